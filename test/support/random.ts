import { onTestFailed } from 'vitest';

/** Returns numbers from 0 up to 1. A seed always gives the same numbers. */
export type Random = () => number;

/**
 * Returns random numbers for one test. A failed test prints its seed, and `SEED` repeats it. `always` is the seed of a
 * test whose result depends on chance.
 */
export function seededRandom({ always = Math.floor(Math.random() * 2 ** 32) } = {}): Random {
  const seed = Number(process.env.SEED ?? always);
  onTestFailed(() => console.error(`Repeat this test with SEED=${seed}`));
  return mulberry32(seed);
}

export function integerBetween(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

export function hexOf(random: Random, bytes: number): string {
  let hex = '';
  for (let index = 0; index < bytes; index++) hex += integerBetween(random, 1, 255).toString(16).padStart(2, '0');
  return hex;
}

/** Mulberry32 by Tommy Ettinger, public domain. */
function mulberry32(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

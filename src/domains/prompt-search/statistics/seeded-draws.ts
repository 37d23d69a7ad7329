import { hash } from 'node:crypto';

/** Returns numbers from 0 up to 1. */
export type Draws = () => number;

/**
 * Returns the random numbers of one purpose in one iteration of a run. They do not depend on what
 * else was drawn, so a replay draws the same (Mulberry32 by Tommy Ettinger, public domain).
 */
export function seededDraws(seed: number, purpose: string, iteration = 0): Draws {
  let state = Number.parseInt(hash('sha256', `${seed}|${purpose}|${iteration}`).slice(0, 8), 16);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a whole number from 0 to `size - 1`. */
export const drawIndex = (draw: Draws, size: number) => Math.floor(draw() * size);

/** Returns the items in random order. */
export function shuffled<T>(draw: Draws, items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: draw() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

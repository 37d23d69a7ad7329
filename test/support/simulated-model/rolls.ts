import { hash } from 'node:crypto';

/** Returns a number from 0 up to 1 that depends on the parts alone. */
export function roll(...parts: readonly (string | number)[]): number {
  return Number.parseInt(hash('sha256', parts.join('\u0000')).slice(0, 12), 16) / 2 ** 48;
}

/** Returns numbers from 0 up to 1. The same parts give the same numbers. */
export function rolls(...parts: readonly (string | number)[]): () => number {
  let drawn = 0;
  return () => roll(...parts, drawn++);
}

/** Returns one of the items. */
export function pickOne<T>(items: readonly [T, ...T[]], share: number): T {
  return items[Math.floor(share * items.length)] ?? items[0];
}

/** Returns about how many tokens a text has. */
export const tokensOf = (text: string) => Math.ceil(text.length / 4);

import type { Interval } from '../../prompt-search/index.ts';

/** A number that was stored as JSON. Runs of an older version can have null for one that was not finite. */
type StoredNumber = number | null | undefined;

/** Formats a score from 0 to 1 with three decimals; a dash if it is not known. */
export function formatScore(score: StoredNumber): string {
  return fixed(score, 3);
}

/** Formats a mean with its 95 % interval. */
export function formatInterval({ mean, ci95: [low, high] }: Interval, digits = 3): string {
  return `${fixed(mean, digits)} (95 % interval ${fixed(low, digits)} to ${fixed(high, digits)})`;
}

/** Formats a difference with its sign. */
export function formatDifference(value: number, digits = 3): string {
  return `${value > 0 ? '+' : ''}${fixed(value, digits)}`;
}

const fixed = (value: StoredNumber, digits: number) =>
  value === null || value === undefined ? '–' : value.toFixed(digits);

import type { Interval } from '../../prompt-search/index.ts';

/** Formats a score from 0 to 1 with three decimals; a dash if it is not known. */
export function formatScore(score: number | null | undefined): string {
  return score === null || score === undefined ? '–' : score.toFixed(3);
}

/** Formats a mean with its 95 % interval. */
export function formatInterval({ mean, ci95: [low, high] }: Interval, digits = 3): string {
  return `${mean.toFixed(digits)} (95 % interval ${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** Formats a difference with its sign. */
export function formatDifference(value: number, digits = 3): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(digits)}`;
}

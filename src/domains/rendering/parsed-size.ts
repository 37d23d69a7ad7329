import type { ParsedTemplate } from '../templates/index.ts';

/** Approximate bytes of one tree node with its use and position. */
const bytesPerUse = 600;

/** Estimates the bytes that a parsed template takes in memory. */
export function parsedSizeOf({ source, variables, parts }: ParsedTemplate): number {
  return 2 * source.length + bytesPerUse * (1 + variables.length + parts.length);
}

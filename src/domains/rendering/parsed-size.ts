import type { ParsedTemplate } from '../templates/index.ts';

/** A node of the tree, its use and its position, roughly. */
const bytesPerUse = 600;

/** Bytes a parsed template takes, roughly. */
export function parsedSizeOf({ source, variables, parts }: ParsedTemplate): number {
  return 2 * source.length + bytesPerUse * (1 + variables.length + parts.length);
}

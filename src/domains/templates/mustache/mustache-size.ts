import { retainedBytesOf } from '../../../lib/retained-bytes.ts';
import type { MustacheTemplate } from '../template.ts';

/** Approximate bytes of one use with its position and its list of sections. */
const bytesPerUse = 300;

/** Estimates the bytes that a parsed Mustache template takes in memory, with its tree. */
export function mustacheSizeOf({ source, nodes, variables, parts }: MustacheTemplate): number {
  return 2 * source.length + bytesPerUse * (variables.length + parts.length) + retainedBytesOf(nodes);
}

import type { TreeNode } from '../../../lib/span-tree.ts';

/**
 * Returns the nanoseconds of a span in which none of its children ran: its duration minus the union
 * of their intervals, clipped to the span.
 */
export function selfTimeNano({ span, children }: TreeNode): bigint {
  let selfNano = 0n;
  let coveredUntil = span.startUnixNano;
  for (const { span: child } of children) {
    const start = earlier(child.startUnixNano, span.endUnixNano);
    if (start > coveredUntil) selfNano += start - coveredUntil;
    coveredUntil = later(coveredUntil, earlier(child.endUnixNano, span.endUnixNano));
  }
  return selfNano + (span.endUnixNano - coveredUntil);
}

/** Returns the nanoseconds of a span or of any other interval. */
export function durationNano({ startUnixNano, endUnixNano }: { startUnixNano: bigint; endUnixNano: bigint }): bigint {
  return endUnixNano - startUnixNano;
}

/** Returns the smaller of two times. */
export function earlier(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** Returns the larger of two times. */
export function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

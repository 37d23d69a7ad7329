import type { TimedSpan, TreeNode } from '../../../lib/span-tree.ts';

export interface Boundary<S extends TimedSpan> {
  atUnixNano: bigint;
  /** Listed in the order in which boundaries at one instant are processed. */
  type: 'end' | 'start' | 'momentEnd';
  node: TreeNode<S>;
}

const typeOrder = { end: 0, start: 1, momentEnd: 2 } as const;

/**
 * Returns the starts and ends of all spans in order of time. At one instant, ends come before
 * starts, so that consecutive steps never overlap. A span without duration is open for its instant.
 */
export function boundariesOf<S extends TimedSpan>(nodes: readonly TreeNode<S>[]): Boundary<S>[] {
  const boundaries = nodes.flatMap((node): Boundary<S>[] => {
    const { startUnixNano, endUnixNano } = node.span;
    const end = startUnixNano === endUnixNano ? 'momentEnd' : 'end';
    return [
      { atUnixNano: startUnixNano, type: 'start', node },
      { atUnixNano: endUnixNano, type: end, node },
    ];
  });
  return boundaries.sort((a, b) => {
    if (a.atUnixNano !== b.atUnixNano) return a.atUnixNano < b.atUnixNano ? -1 : 1;
    return typeOrder[a.type] - typeOrder[b.type];
  });
}

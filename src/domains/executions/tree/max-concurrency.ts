import type { TimedSpan, TreeNode } from '../../../lib/span-tree.ts';
import type { Boundary } from './boundaries.ts';

/**
 * Returns the largest number of spans that worked at one instant. A span works when it is open and
 * none of its children is; a span with an open child only waits.
 */
export function maxConcurrency<S extends TimedSpan>(boundaries: readonly Boundary<S>[]): number {
  const open = new Set<TreeNode<S>>();
  const openChildren = new Map<TreeNode<S>, number>();
  let working = 0;
  let most = 0;
  const isWorking = (node: TreeNode<S> | undefined) =>
    node !== undefined && open.has(node) && (openChildren.get(node) ?? 0) === 0;
  boundaries.forEach(({ atUnixNano, type, node }, index) => {
    const { parent } = node;
    working -= Number(isWorking(node)) + Number(isWorking(parent));
    if (type === 'start') open.add(node);
    else open.delete(node);
    if (parent) openChildren.set(parent, (openChildren.get(parent) ?? 0) + (type === 'start' ? 1 : -1));
    working += Number(isWorking(node)) + Number(isWorking(parent));
    const next = boundaries[index + 1];
    const instantIsOver = next?.atUnixNano !== atUnixNano || next.type === 'momentEnd';
    if (type === 'start' && instantIsOver) most = Math.max(most, working);
  });
  return most;
}

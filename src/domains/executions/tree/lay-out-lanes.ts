import { itemAt } from '../../../lib/item-at.ts';
import type { TimedSpan, Tree, TreeNode } from '../../../lib/span-tree.ts';
import type { Boundary } from './boundaries.ts';
import { FreeLanes } from './free-lanes.ts';

/**
 * Returns a lane of the timeline for every span, by its order in the tree: the smallest number
 * above its parent's lane that is free while the span lasts. Spans are placed by start, then
 * longest first, then by id, but always after their parent. Spans of one lane never overlap. O(n
 * log n).
 */
export function layOutLanes<S extends TimedSpan>({ nodes }: Tree<S>, boundaries: readonly Boundary<S>[]): number[] {
  const free = new FreeLanes(nodes.length);
  const { starts, ends } = rankTimes(boundaries);
  const lanes: number[] = nodes.map(() => unplaced);
  const queue = [...nodes].sort((a, b) => {
    const byStart = itemAt(starts, a.order) - itemAt(starts, b.order);
    return byStart || itemAt(ends, b.order) - itemAt(ends, a.order) || (a.span.spanId < b.span.spanId ? -1 : 1);
  });
  for (const next of queue) {
    for (const { order, parent } of unplacedAncestry(next, lanes)) {
      const lane = free.find(parent === undefined ? 0 : itemAt(lanes, parent.order) + 1, itemAt(starts, order));
      free.take(lane, itemAt(ends, order));
      lanes[order] = lane;
    }
  }
  return lanes;
}

const unplaced = -1;

/**
 * Replaces times by their ranks, by the span's order in the tree. Nanoseconds since the epoch are
 * too large for a number.
 */
function rankTimes<S extends TimedSpan>(boundaries: readonly Boundary<S>[]): { starts: number[]; ends: number[] } {
  const ranks = { starts: Array<number>(boundaries.length / 2), ends: Array<number>(boundaries.length / 2) };
  let rank = 0;
  let lastUnixNano = boundaries[0]?.atUnixNano;
  for (const { atUnixNano, type, node } of boundaries) {
    if (atUnixNano !== lastUnixNano) rank++;
    lastUnixNano = atUnixNano;
    ranks[type === 'start' ? 'starts' : 'ends'][node.order] = rank;
  }
  return ranks;
}

/**
 * Returns the span, preceded by its ancestors that have no lane yet because they begin later than
 * the span.
 */
function unplacedAncestry<S extends TimedSpan>(node: TreeNode<S>, lanes: readonly number[]): TreeNode<S>[] {
  const path: TreeNode<S>[] = [];
  for (let at: TreeNode<S> | undefined = node; at && lanes[at.order] === unplaced; at = at.parent) path.push(at);
  return path.reverse();
}

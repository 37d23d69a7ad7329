import type { TimedSpan, Tree, TreeNode } from '../../../lib/span-tree.ts';
import { durationNano } from './self-time.ts';

export interface SpanFilter {
  kinds: ReadonlySet<string> | undefined;
  durationNanoMin: bigint;
  /** Only failed spans, and all their ancestors so that they can be placed in the tree. */
  errorsOnly: boolean;
  limit: number;
}

type Span = TimedSpan & { kind: string; status: string };

/**
 * Returns the nodes that a filter selects, depth first, and whether there were more than its limit.
 */
export function pickSpans<S extends Span>(
  { nodes }: Tree<S>,
  { kinds, durationNanoMin, errorsOnly, limit }: SpanFilter,
): { picked: TreeNode<S>[]; more: boolean } {
  const matches = nodes.filter(
    ({ span }) =>
      (kinds === undefined || kinds.has(span.kind)) &&
      durationNano(span) >= durationNanoMin &&
      (!errorsOnly || span.status === 'error'),
  );
  const found = errorsOnly ? withAncestors(nodes, matches) : matches;
  return { picked: found.slice(0, limit), more: found.length > limit };
}

function withAncestors<S extends TimedSpan>(
  nodes: readonly TreeNode<S>[],
  matches: readonly TreeNode<S>[],
): TreeNode<S>[] {
  const kept = new Set<TreeNode<S>>();
  for (const match of matches) {
    for (let at: TreeNode<S> | undefined = match; at && !kept.has(at); at = at.parent) kept.add(at);
  }
  return nodes.filter((node) => kept.has(node));
}

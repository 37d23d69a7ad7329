import type { TimedSpan, TreeNode } from '../../../lib/span-tree.ts';
import { isHandedOver } from './otel-kinds.ts';
import { durationNano, earlier, later } from './self-time.ts';

export interface Segment {
  spanId: string;
  startUnixNano: bigint;
  endUnixNano: bigint;
}

type Span = TimedSpan & { otelKind: number };

/**
 * Returns the work that delayed the end of `root`, earliest first: disjoint segments that add up to
 * its duration. Goes backwards from the end, always into the child that finished last (see
 * jaeger-ui, TracePage/CriticalPath). Children are clipped to their parent. Work that a span passes
 * to a consumer is excluded. Unlike in Jaeger, a child that ends exactly where the next begins is on
 * the path.
 */
export function criticalPath<S extends Span>(root: TreeNode<S>): Segment[] {
  const segments: Segment[] = [];
  const open = [visit(root, root.span.startUnixNano, root.span.endUnixNano)];
  for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
    const child = nextChild(at);
    addSegment(segments, at, child?.endUnixNano ?? at.startUnixNano);
    if (child === undefined) {
      open.pop();
      continue;
    }
    at.cursor = child.startUnixNano;
    open.push(visit(child.node, child.startUnixNano, child.endUnixNano));
  }
  return segments.reverse();
}

/**
 * Returns the longest root, or the longest other top when there is no root. Of equal ones, the
 * earliest is returned.
 */
export function longestTop<S extends Span>(tops: readonly TreeNode<S>[]): TreeNode<S> | undefined {
  const roots = tops.filter(({ parentLink }) => parentLink === 'root');
  const candidates = roots.length > 0 ? roots : tops;
  return candidates.reduce<TreeNode<S> | undefined>(
    (longest, top) => (longest === undefined || durationNano(top.span) > durationNano(longest.span) ? top : longest),
    undefined,
  );
}

interface Clipped<S extends Span> {
  node: TreeNode<S>;
  startUnixNano: bigint;
  endUnixNano: bigint;
}

interface Visit<S extends Span> extends Clipped<S> {
  /** Everything after this time is on the path already. */
  cursor: bigint;
  /** In order of end, the latest first. */
  children: Clipped<S>[];
  next: number;
}

function visit<S extends Span>(node: TreeNode<S>, startUnixNano: bigint, endUnixNano: bigint): Visit<S> {
  const children: Clipped<S>[] = [];
  for (const child of node.children) {
    if (isHandedOver(node.span, child.span)) continue;
    const start = later(child.span.startUnixNano, startUnixNano);
    const end = earlier(child.span.endUnixNano, endUnixNano);
    if (start < end) children.push({ node: child, startUnixNano: start, endUnixNano: end });
  }
  // Siblings are sorted by start and id, and the sort is stable. Of children with the same end, the
  // one that starts first is taken.
  children.sort((a, b) => (a.endUnixNano === b.endUnixNano ? 0 : a.endUnixNano > b.endUnixNano ? -1 : 1));
  return { node, startUnixNano, endUnixNano, cursor: endUnixNano, children, next: 0 };
}

function nextChild<S extends Span>(at: Visit<S>): Clipped<S> | undefined {
  for (let child = at.children[at.next++]; child !== undefined; child = at.children[at.next++]) {
    if (child.endUnixNano <= at.cursor) return child;
  }
  return undefined;
}

function addSegment<S extends Span>(segments: Segment[], at: Visit<S>, startUnixNano: bigint): void {
  if (startUnixNano < at.cursor) {
    segments.push({ spanId: at.node.span.spanId, startUnixNano, endUnixNano: at.cursor });
  }
}

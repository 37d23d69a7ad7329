import { byStart, type StartedSpan } from './by-start.ts';

/** A span in its tree. */
export interface TreeNode<Span> {
  span: Span;
  /** Undefined for a root, for a span whose parent has not arrived, and where a cycle was cut. */
  parent: TreeNode<Span> | undefined;
  children: TreeNode<Span>[];
}

export interface ParentedSpan extends StartedSpan {
  parentSpanId: string;
}

/** The roots of the trees that the spans of one trace make. A cycle is cut above its earliest span. O(n), no recursion. */
export function treesOf<Span extends ParentedSpan>(spans: readonly Span[]): TreeNode<Span>[] {
  const nodes = new Map<string, TreeNode<Span>>();
  for (const span of spans) nodes.set(span.spanId, { span, parent: undefined, children: [] });
  for (const node of nodes.values()) node.parent = nodes.get(node.span.parentSpanId);
  cutCycles(nodes.values());
  const roots: TreeNode<Span>[] = [];
  for (const node of nodes.values()) (node.parent?.children ?? roots).push(node);
  return roots;
}

/** Walks up from every span; a walk that meets itself has found a cycle, one that meets another has nothing new above it. */
function cutCycles<Span extends ParentedSpan>(nodes: Iterable<TreeNode<Span>>): void {
  const walkOf = new Map<TreeNode<Span>, number>();
  let walk = 0;
  for (const start of nodes) {
    walk++;
    let at: TreeNode<Span> | undefined = start;
    while (at !== undefined && !walkOf.has(at)) {
      walkOf.set(at, walk);
      at = at.parent;
    }
    if (at !== undefined && walkOf.get(at) === walk) earliestOnCycle(at).parent = undefined;
  }
}

function earliestOnCycle<Span extends ParentedSpan>(start: TreeNode<Span>): TreeNode<Span> {
  let earliest = start;
  for (let at = start.parent; at !== undefined && at !== start; at = at.parent) {
    if (byStart(at.span, earliest.span) < 0) earliest = at;
  }
  return earliest;
}

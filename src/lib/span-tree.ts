/** The fields that determine the place of a span in its trace; `parentSpanId` is '' for a root. */
export interface StartedSpan {
  spanId: string;
  parentSpanId: string;
  startUnixNano: bigint;
}

export interface TimedSpan extends StartedSpan {
  endUnixNano: bigint;
}

/**
 * Why a span has no parent in the tree: it names none (`root`), it names an absent one (`orphan`),
 * or it names one of its own descendants (`cut`).
 */
export type ParentLink = 'child' | 'root' | 'orphan' | 'cut';

export interface TreeNode<S extends StartedSpan = TimedSpan> {
  span: S;
  parentLink: ParentLink;
  parent: TreeNode<S> | undefined;
  /** Ordered by start, then by id. */
  children: TreeNode<S>[];
  /** 0 for a span without a parent in the tree. */
  depth: number;
  /** Position in `Tree.nodes`. */
  order: number;
}

export interface Tree<S extends StartedSpan = TimedSpan> {
  /** Depth first: a parent comes before its children, and a subtree is contiguous. */
  nodes: readonly TreeNode<S>[];
  /** Roots by start, then the other spans without a parent by start. */
  tops: readonly TreeNode<S>[];
}

/**
 * Builds the forest of a trace's spans, whose ids are unique. The result does not depend on the
 * order of the spans. A cycle of parents is cut at its earliest span. O(n log n), no recursion.
 */
export function buildTree<S extends StartedSpan>(spans: readonly S[]): Tree<S> {
  const byId = new Map<string, TreeNode<S>>();
  for (const span of [...spans].sort(compareStarts)) {
    byId.set(span.spanId, { span, parentLink: 'child', parent: undefined, children: [], depth: 0, order: 0 });
  }
  const sorted = [...byId.values()];
  for (const node of sorted) link(node, byId);
  cutCycles(sorted);
  for (const node of sorted) node.parent?.children.push(node);
  const roots = sorted.filter(({ parentLink }) => parentLink === 'root');
  const tops = [...roots, ...sorted.filter(({ parentLink }) => parentLink === 'orphan' || parentLink === 'cut')];
  return { nodes: depthFirst(tops), tops };
}

/** Compares siblings: by start, then by id. */
export function compareStarts(a: Omit<StartedSpan, 'parentSpanId'>, b: Omit<StartedSpan, 'parentSpanId'>): number {
  if (a.startUnixNano !== b.startUnixNano) return a.startUnixNano < b.startUnixNano ? -1 : 1;
  return a.spanId < b.spanId ? -1 : 1;
}

function link<S extends StartedSpan>(node: TreeNode<S>, byId: ReadonlyMap<string, TreeNode<S>>): void {
  const { parentSpanId } = node.span;
  node.parent = parentSpanId === '' ? undefined : byId.get(parentSpanId);
  if (node.parent === undefined) node.parentLink = parentSpanId === '' ? 'root' : 'orphan';
}

/**
 * Cuts every cycle. Walks up from each span until it meets a span that an earlier walk has visited.
 * A walk that meets its own path has found a cycle.
 */
function cutCycles<S extends StartedSpan>(sorted: readonly TreeNode<S>[]): void {
  const passedBy = new Map<TreeNode<S>, TreeNode<S>>();
  for (const start of sorted) {
    let at: TreeNode<S> | undefined = start;
    for (; at !== undefined && !passedBy.has(at); at = at.parent) passedBy.set(at, start);
    if (at === undefined || passedBy.get(at) !== start) continue;
    const earliest = earliestOnCycle(at);
    earliest.parent = undefined;
    earliest.parentLink = 'cut';
  }
}

function earliestOnCycle<S extends StartedSpan>(start: TreeNode<S>): TreeNode<S> {
  let earliest = start;
  for (let at = start.parent; at !== undefined && at !== start; at = at.parent) {
    if (compareStarts(at.span, earliest.span) < 0) earliest = at;
  }
  return earliest;
}

function depthFirst<S extends StartedSpan>(tops: readonly TreeNode<S>[]): TreeNode<S>[] {
  const nodes: TreeNode<S>[] = [];
  const open = tops.toReversed();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    node.order = nodes.length;
    node.depth = node.parent === undefined ? 0 : node.parent.depth + 1;
    nodes.push(node);
    for (let index = node.children.length - 1; index >= 0; index--) {
      const child = node.children[index];
      if (child !== undefined) open.push(child);
    }
  }
  return nodes;
}

import { modelKinds, reportsUsage } from '../../lib/span-kind.ts';
import { compareStarts, type StartedSpan } from '../../lib/span-tree.ts';
import { noUsage, type TokenUsage, usageParts } from '../spans/index.ts';

/** The fields of a span that counting needs. Ids are unique within one trace. */
export interface CountableSpan extends StartedSpan {
  kind: string;
  usage: TokenUsage | null;
  costNanoUsd: bigint | null;
  responseId: string;
}

/** A sum over counted spans. */
export interface UsageTotal {
  usage: TokenUsage;
  costNanoUsd: bigint;
  /** Counted spans without a cost. */
  unpricedSpans: number;
  /** Counted spans with a cost. */
  pricedSpans: number;
}

export interface CountedUsage extends UsageTotal {
  countedSpanIds: Set<string>;
  /**
   * The innermost model calls that report nothing, also those below a span that knows their sum.
   */
  silentSpanIds: Set<string>;
  /** Model calls that report nothing, below one with the same response id that does: the same call again. */
  repeatedSpanIds: Set<string>;
}

/**
 * Sums the usage of one trace so that nothing counts twice. The usage of every `llm` span counts.
 * Any other span, such as an agent or an embedding that repeats the sum of its calls, counts only
 * when nothing below it counted.
 * Of nested calls with one response id (two instrumentations of one call) the innermost that reports
 * something counts. A model call that reports nothing counts as one call of unknown cost, the
 * innermost of nested ones, unless a span above it counts and so knows the sum.
 * Of a repeated span id the last span counts. A cycle of parents is cut at its earliest
 * span, as in `buildTree`. So the result does not depend on the order of spans with different ids.
 * O(n), no recursion.
 */
export function sumUsage(spans: readonly CountableSpan[]): CountedUsage {
  const nodes = nodesOf(spans);
  const total: CountedUsage = {
    ...nothingUsed(),
    countedSpanIds: new Set(),
    silentSpanIds: new Set(),
    repeatedSpanIds: new Set(),
  };
  for (const root of nodes.values()) if (root.parent === undefined) countBelow(root, total);
  for (const node of nodes.values()) if (!node.entered) countBelow(earliestOnCycle(node), total);
  return total;
}

/** Returns a sum to which nothing has been added. */
export function nothingUsed(): UsageTotal {
  return { usage: noUsage(), costNanoUsd: 0n, unpricedSpans: 0, pricedSpans: 0 };
}

/** Adds a span that counts; see {@link sumUsage}. */
export function addSpan(total: UsageTotal, { usage, costNanoUsd }: CountableSpan): void {
  if (costNanoUsd === null) total.unpricedSpans++;
  else total.pricedSpans++;
  total.costNanoUsd += costNanoUsd ?? 0n;
  if (usage === null) return;
  for (const part of usageParts) total.usage[part] += usage[part];
}

/** Adds another sum. */
export function addTotal(total: UsageTotal, other: UsageTotal): void {
  total.costNanoUsd += other.costNanoUsd;
  total.unpricedSpans += other.unpricedSpans;
  total.pricedSpans += other.pricedSpans;
  for (const part of usageParts) total.usage[part] += other.usage[part];
}

/** Returns the nano-USD of all priced spans; null when counted spans exist and none has a cost. */
export function knownCost({ costNanoUsd, pricedSpans, unpricedSpans }: UsageTotal): bigint | null {
  return pricedSpans === 0 && unpricedSpans > 0 ? null : costNanoUsd;
}

interface Node {
  span: CountableSpan;
  parent: Node | undefined;
  children: Node[];
  entered: boolean;
  /** Whether a call below has the same response id and counts instead. */
  superseded: boolean;
  countedBelow: boolean;
  /** The call above with the same response id, which is open again when the walk leaves this node. */
  hidden: Node | undefined;
  /** The number of silent calls known when the walk entered this node. */
  silentBefore: number;
}

function nodesOf(spans: readonly CountableSpan[]): Map<string, Node> {
  const nodes = new Map<string, Node>();
  for (const span of spans) {
    nodes.set(span.spanId, {
      span,
      parent: undefined,
      children: [],
      entered: false,
      superseded: false,
      countedBelow: false,
      hidden: undefined,
      silentBefore: 0,
    });
  }
  for (const node of nodes.values()) {
    node.parent = node.span.parentSpanId === '' ? undefined : nodes.get(node.span.parentSpanId);
    node.parent?.children.push(node);
  }
  return nodes;
}

/**
 * Walks the tree depth first. On the way down a call supersedes the call above with the same
 * response id. On the way up spans are counted.
 */
function countBelow(root: Node, total: CountedUsage): void {
  const open = new Map<string, Node>();
  /**
   * Model calls that report nothing, in the order in which the walk left them. So the calls below a
   * span are at the end.
   */
  const silent: CountableSpan[] = [];
  const stack = [root];
  for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
    if (!node.entered) {
      enter(node, { open, silent, total });
      for (const child of node.children) if (!child.entered) stack.push(child);
    } else {
      stack.pop();
      leave(node, { open, silent, total });
    }
  }
  for (const span of silent) count(span, total);
}

function enter(node: Node, { open, silent, total }: Walk): void {
  node.entered = true;
  node.silentBefore = silent.length;
  if (!isIdentifiedCall(node)) {
    const { kind, responseId, spanId } = node.span;
    if (modelKinds.has(kind) && !reportsUsage(node.span) && open.has(responseId)) total.repeatedSpanIds.add(spanId);
    return;
  }
  const above = open.get(node.span.responseId);
  if (above !== undefined) above.superseded = true;
  node.hidden = above;
  open.set(node.span.responseId, node);
}

interface Walk {
  open: Map<string, Node>;
  silent: CountableSpan[];
  total: CountedUsage;
}

function leave(node: Node, { open, silent, total }: Walk): void {
  if (isIdentifiedCall(node)) {
    if (node.hidden === undefined) open.delete(node.span.responseId);
    else open.set(node.span.responseId, node.hidden);
  }
  const counts = reportsUsage(node.span) && (node.span.kind === 'llm' ? !node.superseded : !node.countedBelow);
  if (counts) {
    silent.length = node.silentBefore;
    count(node.span, total);
  } else if (isSilentCall(node) && silent.length === node.silentBefore) {
    silent.push(node.span);
    total.silentSpanIds.add(node.span.spanId);
  }
  if (node.parent !== undefined && (counts || node.countedBelow)) node.parent.countedBelow = true;
}

function count(span: CountableSpan, total: CountedUsage): void {
  total.countedSpanIds.add(span.spanId);
  addSpan(total, span);
}

/** Returns whether a model call reports neither usage nor cost, and nothing below it counts. */
function isSilentCall({ span, countedBelow }: Node): boolean {
  return modelKinds.has(span.kind) && span.usage === null && span.costNanoUsd === null && !countedBelow;
}

function isIdentifiedCall(node: Node): boolean {
  return modelKinds.has(node.span.kind) && node.span.responseId !== '' && reportsUsage(node.span);
}

/** Returns the span where a cycle of parents is cut. It is on the cycle, not merely below it. */
function earliestOnCycle(start: Node): Node {
  const seen = new Set<Node>();
  let at = start;
  for (; at.parent !== undefined && !seen.has(at); at = at.parent) seen.add(at);
  let earliest = at;
  for (let other = at.parent; other !== undefined && other !== at; other = other.parent) {
    if (compareStarts(other.span, earliest.span) < 0) earliest = other;
  }
  return earliest;
}

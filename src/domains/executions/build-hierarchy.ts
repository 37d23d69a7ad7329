import { itemAt } from '../../lib/item-at.ts';
import type { Tree, TreeNode } from '../../lib/span-tree.ts';
import { isoFromUnixNano, msFromNano } from '../../lib/time.ts';
import type { TreeSpan } from '../spans/reads.ts';
import { knownCost } from '../summaries/index.ts';
import { costToWire, usageToWire } from './executions.schema.ts';
import type { FlatNode, HierarchyNode, NestedNode } from './hierarchy.schema.ts';
import { otelKindName, promptToWire } from './span.schema.ts';
import { durationNano, selfTimeNano } from './tree/self-time.ts';
import { type SubtreeTotal, sumSubtrees, sumTotals } from './tree/sum-subtrees.ts';

type Node = TreeNode<TreeSpan>;

/** A node of the hierarchy, before the nested or flat format is chosen. */
export interface HierarchyItem {
  fields: HierarchyNode;
  /** Index of the parent in the list of items; null for a top node. */
  parentIndex: number | null;
  childIds: string[];
}

/**
 * Lists the nodes of a trace depth first: first its roots, then the other tops, each by start. One
 * synthetic node stands above all orphans that name the same missing parent. Times are compared
 * after skew correction but shown as sent.
 */
export function buildHierarchy(tree: Tree<TreeSpan>): HierarchyItem[] {
  const totals = sumSubtrees(tree);
  const items: HierarchyItem[] = [];
  const indexOf: number[] = [];
  const add = (fields: HierarchyNode, parentIndex: number | null) => {
    if (parentIndex !== null) itemAt(items, parentIndex).childIds.push(fields.span_id);
    return items.push({ fields, parentIndex, childIds: [] }) - 1;
  };
  for (const { missing, tops } of groupOrphans(tree.tops)) {
    const missed = missing === undefined ? null : add(standIn(missing, sumTotals(tops.map(totalOf))), null);
    for (const top of tops) {
      for (const node of subtreeOf(top)) {
        const parentIndex = node.parent === undefined ? missed : itemAt(indexOf, node.parent.order);
        const depth = parentIndex === null ? 0 : itemAt(items, parentIndex).fields.depth + 1;
        indexOf[node.order] = add(nodeToWire(node, depth, totalOf(node)), parentIndex);
      }
    }
  }
  return items;

  function totalOf({ order }: Node): SubtreeTotal {
    return itemAt(totals, order);
  }
  function subtreeOf(top: Node): readonly Node[] {
    return tree.nodes.slice(top.order, top.order + totalOf(top).spanCount);
  }
}

/** Returns the top nodes, with every other node inside its parent. */
export function nest(items: readonly HierarchyItem[]): NestedNode[] {
  const nested = items.map(({ fields }): NestedNode => Object.assign(fields, { children: [] }));
  items.forEach(({ parentIndex }, index) => {
    if (parentIndex !== null) itemAt(nested, parentIndex).children.push(itemAt(nested, index));
  });
  return nested.filter((_, index) => items[index]?.parentIndex === null);
}

/** Returns all nodes in one list, depth first. */
export function flatten(items: readonly HierarchyItem[]): FlatNode[] {
  return items.map(({ fields, parentIndex, childIds }) =>
    Object.assign(fields, { child_ids: childIds, parent_index: parentIndex }),
  );
}

/** Spans at the top of the tree. Spans that name the same missing parent form one group. */
interface TopGroup {
  missing: string | undefined;
  tops: Node[];
}

/** Groups the tops in the order of the first span of each group. */
function groupOrphans(tops: readonly Node[]): TopGroup[] {
  const groups: TopGroup[] = [];
  const byMissing = new Map<string, TopGroup>();
  for (const top of tops) {
    const missing = top.parentLink === 'orphan' ? top.span.parentSpanId : undefined;
    const known = missing === undefined ? undefined : byMissing.get(missing);
    known?.tops.push(top);
    if (known !== undefined) continue;
    const group = { missing, tops: [top] };
    groups.push(group);
    if (missing !== undefined) byMissing.set(missing, group);
  }
  return groups;
}

function nodeToWire(node: Node, depth: number, total: SubtreeTotal): HierarchyNode {
  const { span, parentLink } = node;
  return {
    span_id: span.spanId,
    parent_span_id: parentLink === 'cut' ? null : span.parentSpanId || null,
    name: span.name,
    kind: span.kind,
    otel_kind: otelKindName(span.otelKind),
    service: span.service || null,
    status: span.status,
    started_at: isoFromUnixNano(span.startUnixNano - span.skewNano),
    duration_ms: msFromNano(durationNano(span)),
    self_ms: msFromNano(selfTimeNano(node)),
    skew_ms: msFromNano(span.skewNano),
    depth,
    model: span.model || null,
    usage: span.usage && usageToWire(span.usage),
    cost: costToWire(span.costNanoUsd),
    prompt_ref: promptToWire(span.prompt),
    orphan: parentLink === 'orphan',
    synthetic: false,
    totals: totalToWire(total),
  };
}

/**
 * Returns the synthetic node for a parent that has not arrived. Only its id and the spans below it
 * are known.
 */
function standIn(spanId: string, total: SubtreeTotal): HierarchyNode {
  return {
    span_id: spanId,
    parent_span_id: null,
    name: null,
    kind: 'other',
    otel_kind: otelKindName(0),
    service: null,
    status: 'unset',
    started_at: null,
    duration_ms: null,
    self_ms: null,
    skew_ms: 0,
    depth: 0,
    model: null,
    usage: null,
    cost: null,
    prompt_ref: null,
    orphan: false,
    synthetic: true,
    totals: totalToWire(total),
  };
}

function totalToWire(total: SubtreeTotal): HierarchyNode['totals'] {
  return {
    span_count: total.spanCount,
    error_count: total.errorCount,
    usage: usageToWire(total.used.usage),
    cost: costToWire(knownCost(total.used)),
    unpriced_spans: total.used.unpricedSpans,
    duration_ms: msFromNano(durationNano(total)),
  };
}

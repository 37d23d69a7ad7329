import { itemAt } from '../../../lib/item-at.ts';
import type { TimedSpan, Tree } from '../../../lib/span-tree.ts';
import {
  addSpan,
  addTotal,
  type CountableSpan,
  nothingUsed,
  sumUsage,
  type UsageTotal,
} from '../../summaries/index.ts';
import { earlier, later } from './self-time.ts';

/** Totals of a span and all spans below it. */
export interface SubtreeTotal {
  spanCount: number;
  errorCount: number;
  used: UsageTotal;
  /** Earliest start; `endUnixNano` is the latest end. */
  startUnixNano: bigint;
  endUnixNano: bigint;
}

type Span = TimedSpan & CountableSpan & { status: string };

/**
 * Returns the totals of every subtree, by the order of its top in the tree. Usage follows the rules
 * of `count-usage.ts`. O(n).
 */
export function sumSubtrees<S extends Span>({ nodes }: Tree<S>): SubtreeTotal[] {
  // Counting cuts cycles where the tree cut them.
  const { countedSpanIds, silentSpanIds } = sumUsage(nodes.map(({ span }) => span));
  const isSilent = nodes.map(({ span }) => silentSpanIds.has(span.spanId));
  const counts = nodes.map(({ span }, order) => countedSpanIds.has(span.spanId) && !isSilent[order]);
  const totals = nodes.map(({ span }, order) => ownTotal(span, counts[order] === true));
  /**
   * Number of model calls in each subtree that report no usage. Calls below a span that counts are
   * excluded, because that span knows the sum.
   */
  const silent = isSilent.map(Number);
  // Children come after their parent. In reverse order, every sum is complete before it is added to
  // the parent.
  for (const { parent, order } of nodes.toReversed()) {
    if (parent === undefined) continue;
    addSubtree(itemAt(totals, parent.order), itemAt(totals, order));
    if (!counts[parent.order]) silent[parent.order] = (silent[parent.order] ?? 0) + (silent[order] ?? 0);
  }
  totals.forEach((total, order) => {
    total.used.unpricedSpans += silent[order] ?? 0;
  });
  return totals;
}

/** Returns the sum of one or more subtrees, none of which is inside another. */
export function sumTotals(totals: readonly SubtreeTotal[]): SubtreeTotal {
  const first = itemAt(totals, 0);
  const sum = { ...first, used: nothingUsed() };
  addTotal(sum.used, first.used);
  for (const other of totals.slice(1)) addSubtree(sum, other);
  return sum;
}

function addSubtree(total: SubtreeTotal, other: SubtreeTotal): void {
  total.spanCount += other.spanCount;
  total.errorCount += other.errorCount;
  total.startUnixNano = earlier(total.startUnixNano, other.startUnixNano);
  total.endUnixNano = later(total.endUnixNano, other.endUnixNano);
  addTotal(total.used, other.used);
}

function ownTotal(span: Span, counts: boolean): SubtreeTotal {
  const used = nothingUsed();
  if (counts) addSpan(used, span);
  const { startUnixNano, endUnixNano } = span;
  return { spanCount: 1, errorCount: Number(span.status === 'error'), used, startUnixNano, endUnixNano };
}

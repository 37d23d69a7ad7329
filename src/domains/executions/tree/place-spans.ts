import { itemAt } from '../../../lib/item-at.ts';
import { buildTree, type Tree, type TreeNode } from '../../../lib/span-tree.ts';
import type { ClockedSpan, SkewOfSpan } from '../../spans/reads.ts';
import { correctSkew, skewNanoMax } from './correct-skew.ts';

/**
 * Builds the tree of a trace. No span ends before it starts, and unless `skew` is false all times
 * are on one clock, so that calls between hosts nest. Spans that need no change are not copied.
 */
export function placeSpans<S extends ClockedSpan>(spans: readonly S[], { skew }: { skew: boolean }): Tree<S> {
  const sent = buildTree(spans.map(endedAfterStart));
  if (!skew) return sent;
  const skews = correctSkew(sent);
  if (!skews.some(({ skewNano, skewRefused }) => skewNano !== 0n || skewRefused)) return sent;
  return buildTree(sent.nodes.map(({ span, order }) => moved(span, itemAt(skews, order))));
}

/** Returns codes of the problems that were found when the span was placed in the tree. */
export function placeWarnings({ parentLink, span }: TreeNode<ClockedSpan>): string[] {
  const warnings: string[] = [];
  if (parentLink === 'cut') warnings.push('parent_cycle');
  if (span.skewRefused) warnings.push('clock_skew_over_limit');
  return warnings;
}

/** Returns the same problems for the whole trace, as sentences that begin with the code. */
export function treeWarnings({ nodes }: Tree<ClockedSpan>): string[] {
  const cut = nodes.filter(({ parentLink }) => parentLink === 'cut');
  const refused = nodes.filter(({ span }) => span.skewRefused);
  const warnings: string[] = [];
  if (cut.length > 0) {
    warnings.push(
      `parent_cycle: spans name themselves or a descendant as their parent. The cycles were cut at ${idsOf(cut)}`,
    );
  }
  if (refused.length > 0) {
    const limitHours = skewNanoMax / 3_600_000_000_000n;
    warnings.push(
      `clock_skew_over_limit: clocks differ by more than ${limitHours} h. These spans and their descendants were not corrected: ${idsOf(refused)}`,
    );
  }
  return warnings;
}

function endedAfterStart<S extends ClockedSpan>(span: S): S {
  return span.endUnixNano < span.startUnixNano ? { ...span, endUnixNano: span.startUnixNano } : span;
}

function moved<S extends ClockedSpan>(span: S, { skewNano, skewRefused }: SkewOfSpan): S {
  if (skewNano === 0n && !skewRefused) return span;
  const startUnixNano = span.startUnixNano + skewNano;
  return { ...span, startUnixNano, endUnixNano: span.endUnixNano + skewNano, skewNano, skewRefused };
}

const idsListedMax = 5;

function idsOf(nodes: readonly TreeNode[]): string {
  const ids = nodes.slice(0, idsListedMax).map(({ span }) => span.spanId);
  const more = nodes.length - ids.length;
  return ids.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

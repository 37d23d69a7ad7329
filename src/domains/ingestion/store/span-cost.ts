import type { NormalizedSpan, SpanCost } from '../../spans/index.ts';

/** Returns the cost that the client reported, or none. */
export function costAsReported({ reportedCostNanoUsd }: Pick<NormalizedSpan, 'reportedCostNanoUsd'>): SpanCost {
  const source = reportedCostNanoUsd === null ? 'none' : 'reported';
  return { nanoUsd: reportedCostNanoUsd, source, priceVersion: '' };
}

/**
 * Returns the cost of a stored span that is normalized again. History is not rewritten: a reported
 * cost stays, only a reported cost replaces a computed one, and current prices are never applied.
 */
export function keptCost(stored: SpanCost, normalized: Pick<NormalizedSpan, 'reportedCostNanoUsd'>): SpanCost {
  if (stored.source === 'reported') return stored;
  const reported = costAsReported(normalized);
  return reported.source === 'reported' ? reported : stored;
}

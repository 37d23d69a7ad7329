import type { NormalisedSpan, SpanCost } from '../../spans/index.ts';

/** What the client reported. */
export function costAsReported({ reportedCostNanoUsd }: Pick<NormalisedSpan, 'reportedCostNanoUsd'>): SpanCost {
  const source = reportedCostNanoUsd === null ? 'none' : 'reported';
  return { nanoUsd: reportedCostNanoUsd, source, priceVersion: '' };
}

/**
 * The cost of a stored span that is normalised again. History is not rewritten: a reported cost stays, a computed one gives way to
 * a reported one only, and nothing is computed by today's prices.
 */
export function keptCost(stored: SpanCost, normalised: Pick<NormalisedSpan, 'reportedCostNanoUsd'>): SpanCost {
  if (stored.source === 'reported') return stored;
  const reported = costAsReported(normalised);
  return reported.source === 'reported' ? reported : stored;
}

import { type Prices, priceCall } from '../../pricing/index.ts';
import type { NormalizedSpan, SpanCost } from '../../spans/index.ts';

/**
 * Searches of the price table for one body. They bound the cost of a body with only new model names
 * to about 30 ms.
 */
export const priceSearchesMax = 256;

/**
 * Returns the cost that the client reported, 0 included. Otherwise computes it from the tokens and
 * the prices at the span's start. The cost stays unknown without a price, and where a token count
 * was dropped: the remaining counts would give a wrong cost.
 */
export function costOfSpan(prices: Prices, span: NormalizedSpan, startUnixNano: bigint): SpanCost {
  const { usage, provider, model, requestModel } = span;
  const reported = costAsReported(span);
  if (reported.source === 'reported' || usage === null || span.warnings.includes('bad_token_count')) return reported;
  const price = priceCall(prices, { provider, model, requestModel, usage, startUnixNano });
  return price === null
    ? reported
    : { nanoUsd: price.costNanoUsd, source: 'computed', priceVersion: price.priceVersion };
}

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

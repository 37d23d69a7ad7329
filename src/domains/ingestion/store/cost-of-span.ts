import { type Prices, priceCall } from '../../pricing/index.ts';
import type { NormalizedSpan, SpanCost } from '../../spans/index.ts';
import { costAsReported } from './span-cost.ts';

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

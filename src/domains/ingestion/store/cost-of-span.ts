import { type Prices, priceCall } from '../../pricing/index.ts';
import type { NormalisedSpan, SpanCost } from '../../spans/index.ts';
import { costAsReported } from './span-cost.ts';

/** Searches of the price table for one body, which bounds what a body of nothing but new model names costs: some 30 ms. */
export const priceSearchesMax = 256;

/**
 * What the client reported, 0 included; else what the tokens cost at the prices of the span's start; else nothing is known, as where a
 * count was dropped: 0 is not what those tokens cost.
 */
export function costOfSpan(prices: Prices, span: NormalisedSpan, startUnixNano: bigint): SpanCost {
  const { usage, provider, model, requestModel } = span;
  const reported = costAsReported(span);
  if (reported.source === 'reported' || usage === null || span.warnings.includes('bad_token_count')) return reported;
  const price = priceCall(prices, { provider, model, requestModel, usage, startUnixNano });
  return price === null
    ? reported
    : { nanoUsd: price.costNanoUsd, source: 'computed', priceVersion: price.priceVersion };
}

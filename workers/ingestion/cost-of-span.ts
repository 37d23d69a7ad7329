import type { NormalisedSpan, SpanCost } from '../../src/domains/ingestion/index.ts';
import { type Prices, priceCall } from '../../src/domains/pricing/index.ts';

const noCost: SpanCost = { nanoUsd: null, source: 'none', priceVersion: '' };

/** What the client reported, 0 included; else what the tokens cost at the prices of the span's start; else nothing is known. */
export function costOfSpan(prices: Prices, span: NormalisedSpan, startUnixNano: bigint): SpanCost {
  const { usage, reportedCostNanoUsd, provider, model, requestModel } = span;
  if (reportedCostNanoUsd !== null) return { nanoUsd: reportedCostNanoUsd, source: 'reported', priceVersion: '' };
  if (usage === null) return noCost;
  const price = priceCall(prices, { provider, model, requestModel, usage, startUnixNano });
  return price === null ? noCost : { nanoUsd: price.costNanoUsd, source: 'computed', priceVersion: price.priceVersion };
}

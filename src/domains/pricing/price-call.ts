import type { TokenUsage } from '../spans/index.ts';
import { cardAt } from './model-rates.ts';
import { findOverride, type PriceOverrides } from './price-overrides.ts';
import type { PriceTable, SearchBudget } from './price-table.ts';
import { costNanoUsd } from './rate-card.ts';

/** A model call as reported by a span; names are '' when unknown. */
export interface PricedCall {
  provider: string;
  model: string;
  requestModel: string;
  usage: TokenUsage;
  startUnixNano: bigint;
}

export interface CallPrice {
  costNanoUsd: bigint;
  /**
   * Source of the price: `genai-prices@…` with the version, or `override:…` with its
   * `effective_from`, or else with the time when it was set.
   */
  priceVersion: string;
}

export interface Prices {
  table: PriceTable;
  overrides: PriceOverrides;
  budget: SearchBudget;
}

/**
 * Returns the cost of a call at the prices of its start, by the model that answered, or else the
 * requested model. A project's own prices come before those of the table. Returns null when no
 * price is known, or when the tokens are not split into input and output.
 */
export function priceCall(prices: Prices, call: PricedCall): CallPrice | null {
  if (isUnsplit(call.usage)) return null;
  const own =
    prices.overrides.size === 0
      ? undefined
      : (findOverride(prices.overrides, call, call.model) ?? findOverride(prices.overrides, call, call.requestModel));
  if (own !== undefined) return { costNanoUsd: costNanoUsd(own.card, call.usage), priceVersion: own.version };
  const card = listedCard(prices, call);
  return card && { costNanoUsd: costNanoUsd(card, call.usage), priceVersion: prices.table.version };
}

function listedCard({ table, budget }: Prices, { provider, model, requestModel, startUnixNano }: PricedCall) {
  const rates =
    table.find(provider, model, budget) ?? (requestModel === model ? null : table.find(provider, requestModel, budget));
  return rates && cardAt(rates, startUnixNano);
}

function isUnsplit(usage: TokenUsage): boolean {
  if (usage.inputTokens + usage.outputTokens > 0) return false;
  return usage.totalTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.reasoningTokens > 0;
}

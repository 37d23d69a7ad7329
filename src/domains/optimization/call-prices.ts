import { unixNanoFromDate } from '../../lib/time.ts';
import { type PriceOverrides, type PriceTable, priceCall } from '../pricing/index.ts';
import { type ModelCall, outputLimitOf, type PlannedCall } from '../prompt-search/index.ts';

/** Names searched for in the price table, for each call. */
const searchesMax = 2;
/** Tokens that a provider adds to each message for its role. */
const messageTokens = 8;
const bytesPerToken = 3;
/** Response tokens of a call that sets no limit. Requests of runs always set one. */
const outputTokensDefault = 4_096;

export interface CallTokens {
  inputTokens: number;
  outputTokens: number;
}

export interface Estimate extends CallTokens {
  /** Of both. */
  tokens: number;
  costNanoUsd: bigint | null;
}

export interface CallPrices {
  /** nano-USD; null if the model has no price. */
  priceOf(model: string, tokens: CallTokens): bigint | null;
  /** Upper bound of what a call may use. */
  estimate(call: PlannedCall): Estimate;
}

/**
 * Returns the prices of a run: those of its creation, so that a replay computes the same.
 */
export function callPrices(table: PriceTable, overrides: PriceOverrides, at: Date): CallPrices {
  const startUnixNano = unixNanoFromDate(at);
  const priceOf = (model: string, { inputTokens, outputTokens }: CallTokens) => {
    const none = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    const usage = { inputTokens, outputTokens, ...none, totalTokens: inputTokens + outputTokens };
    const call = { provider: '', model, requestModel: model, usage, startUnixNano };
    return priceCall({ table, overrides, budget: { left: searchesMax } }, call)?.costNanoUsd ?? null;
  };
  return {
    priceOf,
    estimate({ model, messages, params, addedBytes = 0 }) {
      const inputTokens = messages.reduce((sum, { content }, index) => {
        const added = index === messages.length - 1 ? addedBytes : 0;
        return sum + messageTokens + Math.ceil((Buffer.byteLength(content) + added) / bytesPerToken);
      }, structureTokens(params));
      const outputTokens = outputTokensMax(params);
      const tokens = { inputTokens, outputTokens };
      return { ...tokens, tokens: inputTokens + outputTokens, costNanoUsd: priceOf(model, tokens) };
    },
  };
}

/** Returns the most tokens that a response can have. */
export function outputTokensMax(params: ModelCall['params']): number {
  return outputLimitOf(params) ?? outputTokensDefault;
}

/** Tools and schemas are part of the input. */
function structureTokens(params: ModelCall['params']): number {
  const structures = Object.values(params).filter((value) => typeof value === 'object' && value !== null);
  return structures.length === 0 ? 0 : Math.ceil(Buffer.byteLength(JSON.stringify(structures)) / bytesPerToken);
}

import type { ConditionalPrice, ModelInfo, ModelPrice, TieredPrices } from '@pydantic/genai-prices';
import { attoUsdFromNumber } from '../../lib/money.ts';
import { type Price, priceOf, type Rate, type RateCard } from './rate-card.ts';

/**
 * The prices of one model over time, first to last. The last that applies at a call's start is
 * used, or else the first.
 */
export type ModelRates = readonly { applies: (startMs: number) => boolean; card: RateCard | null }[];

/** Converts the prices of a genai-prices model for calculation. */
export function compileModel(model: ModelInfo): ModelRates {
  const prices = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  return prices.map((price) => ({ applies: compileConstraint(price.constraint), card: compileCard(price.prices) }));
}

/**
 * Returns the rate card for a call with this start, or null when the model is not sold by the
 * token.
 */
export function cardAt(rates: ModelRates, startUnixNano: bigint): RateCard | null {
  if (rates.length === 1) return rates[0]?.card ?? null;
  const startMs = Number(startUnixNano / 1_000_000n);
  return (rates.findLast(({ applies }) => applies(startMs)) ?? rates[0])?.card ?? null;
}

const dayMs = 86_400_000;

function compileConstraint(constraint: ConditionalPrice['constraint']): (startMs: number) => boolean {
  if (constraint === undefined) return () => true;
  if (constraint.type === 'start_date') {
    const fromMs = Date.parse(constraint.start_date);
    return (startMs) => startMs >= fromMs;
  }
  const [fromMs, toMs] = [timeOfDayMs(constraint.start_time), timeOfDayMs(constraint.end_time)];
  return (startMs) => {
    const timeMs = startMs % dayMs;
    return toMs < fromMs ? timeMs >= fromMs || timeMs < toMs : timeMs >= fromMs && timeMs < toMs;
  };
}

/** Returns the milliseconds of day in UTC for `00:30:00Z` or `08:30:00+08:00`. */
function timeOfDayMs(time: string): number {
  return (Date.parse(`1970-01-02T${time}`) + dayMs) % dayMs;
}

/**
 * Converts prices to a rate card. Returns null for a model with prices but none for tokens: it is
 * sold by the hour or page, so its cost is unknown, not 0.
 */
function compileCard(prices: ModelPrice): RateCard | null {
  const { input_mtok: input, output_mtok: output } = prices;
  if (input === undefined && output === undefined && Object.keys(prices).length > 0) return null;
  const [inputRate, outputRate] = [compileRate(input) ?? free, compileRate(output) ?? free];
  return {
    input: inputRate,
    output: outputRate,
    cacheRead: compileRate(prices.cache_read_mtok) ?? inputRate,
    cacheWrite: compileRate(prices.cache_write_mtok) ?? inputRate,
    reasoning: compileRate(prices.output_reasoning_mtok) ?? outputRate,
    perCallNanoUsd: (compileRate(prices.requests_kcount) ?? free).base.attoUsdPerMillion / attoPerThousandPerNano,
  };
}

const free: Rate = { base: priceOf(0n), tiers: [] };

/** Requests are priced by the thousand. */
const attoPerThousandPerNano = 1_000_000_000_000n;

function compileRate(price: number | TieredPrices | undefined): Rate | undefined {
  if (price === undefined) return undefined;
  if (typeof price === 'number') return { base: compilePrice(price), tiers: [] };
  const tiers = price.tiers.map(({ start, price: tier }) => ({
    aboveInputTokens: start,
    price: compilePrice(tier),
  }));
  return { base: compilePrice(price.base), tiers: tiers.sort((a, b) => a.aboveInputTokens - b.aboveInputTokens) };
}

function compilePrice(usdPerMillion: number): Price {
  return priceOf(attoUsdFromNumber(usdPerMillion));
}

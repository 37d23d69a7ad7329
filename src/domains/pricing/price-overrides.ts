import { attoUsdFromDecimal } from '../../lib/money.ts';
import { canonicalProvider } from '../conventions/index.ts';
import type { ModelPrice, ModelPriceList } from './model-price.ts';
import { priceOf, type Rate, type RateCard } from './rate-card.ts';

export interface PriceOverride {
  /** null for any provider. */
  provider: string | null;
  fromUnixNano: bigint;
  card: RateCard;
  version: string;
}

/** A project's own prices by model in lower case, best first. */
export type PriceOverrides = ReadonlyMap<string, readonly PriceOverride[]>;

export const noOverrides: PriceOverrides = new Map();

/** Converts own prices for calculation. */
export function compileOverrides({ prices, updatedAt }: ModelPriceList): PriceOverrides {
  const overrides = new Map<string, PriceOverride[]>();
  for (const price of prices) {
    const model = price.model.toLowerCase();
    overrides.set(model, [...(overrides.get(model) ?? []), compileOverride(price, updatedAt)]);
  }
  for (const list of overrides.values()) list.sort(bestFirst);
  return overrides;
}

/**
 * Returns the own price for a call. A price for its provider comes before a price for any provider;
 * then the latest that applies at its start is used.
 */
export function findOverride(
  overrides: PriceOverrides,
  call: { provider: string; startUnixNano: bigint },
  model: string,
): PriceOverride | undefined {
  return overrides
    .get(model.toLowerCase())
    ?.find(
      ({ provider, fromUnixNano }) =>
        (provider === null || provider === call.provider) && fromUnixNano <= call.startUnixNano,
    );
}

/** The earliest date that JavaScript can represent, before every other price. */
const dawnMs = -8_640_000_000_000_000;

function compileOverride(price: ModelPrice, updatedAt: Date): PriceOverride {
  const input = rate(price.inputPerMillion);
  const output = rate(price.outputPerMillion);
  return {
    provider: price.provider === null ? null : canonicalProvider(price.provider),
    fromUnixNano: BigInt(price.effectiveFrom?.getTime() ?? dawnMs) * 1_000_000n,
    card: {
      input,
      output,
      cacheRead: price.cacheReadPerMillion === null ? input : rate(price.cacheReadPerMillion),
      cacheWrite: price.cacheWritePerMillion === null ? input : rate(price.cacheWritePerMillion),
      reasoning: price.reasoningPerMillion === null ? output : rate(price.reasoningPerMillion),
      perCallNanoUsd: 0n,
    },
    version: `override:${(price.effectiveFrom ?? updatedAt).toISOString()}`,
  };
}

function rate(perMillion: string): Rate {
  return { base: priceOf(attoUsdFromDecimal(perMillion)), tiers: [] };
}

function bestFirst(a: PriceOverride, b: PriceOverride): number {
  if ((a.provider === null) !== (b.provider === null)) return a.provider === null ? 1 : -1;
  return a.fromUnixNano > b.fromUnixNano ? -1 : 1;
}

import { canonicalProvider } from '../conventions/index.ts';

/** A project's own price of a model: USD per million tokens, as decimals such as `2.50`. */
export interface ModelPrice {
  model: string;
  /** null for any provider. */
  provider: string | null;
  inputPerMillion: string;
  outputPerMillion: string;
  /** null when it is the input price; also for `cacheWritePerMillion`. */
  cacheReadPerMillion: string | null;
  cacheWritePerMillion: string | null;
  /** null when it is the output price. */
  reasoningPerMillion: string | null;
  /** Valid for calls that start at this time or later; null for any time. */
  effectiveFrom: Date | null;
}

/** All own prices of a project. They are always replaced together. */
export interface ModelPriceList {
  prices: readonly ModelPrice[];
  updatedAt: Date;
}

/**
 * Returns the identity of a price. Of two prices with the same identity, only one could ever be
 * used.
 */
export function identityOf(price: Pick<ModelPrice, 'model' | 'provider' | 'effectiveFrom'>): string {
  return JSON.stringify([
    price.model.toLowerCase(),
    price.provider === null ? null : canonicalProvider(price.provider),
    price.effectiveFrom?.getTime() ?? null,
  ]);
}

import { canonicalProvider } from '../conventions/index.ts';

/** A project's own price of a model: USD per million tokens, as decimals such as `2.50`. */
export interface ModelPrice {
  model: string;
  /** null for any. */
  provider: string | null;
  inputPerMillion: string;
  outputPerMillion: string;
  /** null when as the input. */
  cacheReadPerMillion: string | null;
  cacheWritePerMillion: string | null;
  /** null when as the output. */
  reasoningPerMillion: string | null;
  /** Holds for calls that start then or later; null for any. */
  effectiveFrom: Date | null;
}

/** All own prices of a project; they replace each other as a whole. */
export interface ModelPriceList {
  prices: readonly ModelPrice[];
  updatedAt: Date;
}

/** What makes two prices the same one: only one of them could ever hold. */
export function identityOf(price: Pick<ModelPrice, 'model' | 'provider' | 'effectiveFrom'>): string {
  return JSON.stringify([
    price.model.toLowerCase(),
    price.provider === null ? null : canonicalProvider(price.provider),
    price.effectiveFrom?.getTime() ?? null,
  ]);
}

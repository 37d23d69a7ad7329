import { canonicalProvider } from '../conventions/index.ts';
import { type OverrideCache, type PriceTable, priceCall } from '../pricing/index.ts';

export interface PriceSource {
  table: PriceTable;
  overrides: OverrideCache;
}

/** A model and its provider; '' when the provider is unknown. */
export interface Model {
  provider: string;
  model: string;
}

/**
 * Returns the requested model, or the model of the prompt's `config`; null when neither names one.
 */
export function modelOf(config: Readonly<Record<string, unknown>> | null, asked: string | undefined): Model | null {
  const model = typeof config?.model === 'string' ? config.model : undefined;
  const provider = typeof config?.provider === 'string' ? canonicalProvider(config.provider) : '';
  // The prompt's provider may not serve another model.
  if (asked !== undefined && asked !== model) return { provider: '', model: asked };
  return model === undefined ? null : { provider, model };
}

/** Names searched for in the price table. */
const searchesMax = 2;

/**
 * Returns the cost of the input tokens in nano-USD at the project's current prices; null when no
 * price is known or readable.
 */
export async function estimateCost(
  { table, overrides }: PriceSource,
  project: { projectId: string; workspaceId: string },
  { provider, model }: Model,
  inputTokens: number,
): Promise<bigint | null> {
  // A price is optional here: without the database the render still succeeds.
  const own = await overrides.of(project).catch(() => undefined);
  if (own === undefined) return null;
  const usage = {
    inputTokens,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    totalTokens: inputTokens,
  };
  const startUnixNano = BigInt(Date.now()) * 1_000_000n;
  const call = { provider, model, requestModel: model, usage, startUnixNano };
  return priceCall({ table, overrides: own, budget: { left: searchesMax } }, call)?.costNanoUsd ?? null;
}

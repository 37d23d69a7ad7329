import { canonicalProvider } from '../conventions/index.ts';
import { type OverrideCache, type PriceTable, priceCall } from '../pricing/index.ts';

export interface PriceSource {
  table: PriceTable;
  overrides: OverrideCache;
}

/** A model and who serves it, '' when that is not known. */
export interface Model {
  provider: string;
  model: string;
}

/** The model that is meant: that of the request, or else that of the prompt's `config`. null when neither names one. */
export function modelOf(config: Readonly<Record<string, unknown>> | null, asked: string | undefined): Model | null {
  const model = typeof config?.model === 'string' ? config.model : undefined;
  const provider = typeof config?.provider === 'string' ? canonicalProvider(config.provider) : '';
  // The prompt's provider need not serve another model.
  if (asked !== undefined && asked !== model) return { provider: '', model: asked };
  return model === undefined ? null : { provider, model };
}

/** Two names are searched for at most. */
const searchesMax = 2;

/** Nano-USD of so many input tokens at the project's prices of now; null when none is known, or none can be read. */
export async function estimateCost(
  { table, overrides }: PriceSource,
  projectId: string,
  { provider, model }: Model,
  inputTokens: number,
): Promise<bigint | null> {
  // A price is an extra here: without the database the render goes on.
  const own = await overrides.of(projectId).catch(() => undefined);
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

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { calcPrice, findProvider, type ModelInfo, type PriceOptions } from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';
import { compileModel, type ModelRates } from './model-rates.ts';

/** How many more searches of the table, some 0.1 ms each, one piece of work may make. */
export interface SearchBudget {
  left: number;
}

const memoEntriesMax = 4_096;
/** No model's name is longer; a hostile one may be a thousand characters. */
const nameCharactersMax = 256;

/** Our names of providers that the table knows by another, or takes for another. */
const providerIds = new Map([
  ['azure.ai.openai', 'azure'],
  ['azure.ai.inference', 'azure'],
  ['gcp.gen_ai', 'google'],
  ['x_ai', 'x-ai'],
  ['moonshot_ai', 'moonshotai'],
  // Names models `provider/model`, as LiteLLM does.
  ['gateway', 'litellm'],
]);

/** What instrumentations of OpenAI's client say of every service that speaks its protocol. */
const ambiguousProviders = new Set(['openai']);

/** Run on one's own machine, or anywhere: a price guessed by the model's name would be wrong. */
const unlistedProviders = new Set([
  'ollama',
  'huggingface',
  'vllm',
  'sglang',
  'lmstudio',
  'lm_studio',
  'llama.cpp',
  'llamacpp',
  'llama_cpp',
  'localai',
]);

/** The price table that comes with the package genai-prices; what was searched for is remembered, also when it was not found. */
export class PriceTable {
  /** Package and version, as stored with every cost. */
  readonly version = `genai-prices@${packageVersion()}`;
  readonly #memo = new LRUCache<string, { rates: ModelRates | null }>({ max: memoEntriesMax });

  /**
   * A model's prices at a provider; of a provider that the table does not know, those of who makes models of that name. null when
   * there are none, and for want of `budget` in a body of many new names.
   */
  find(provider: string, model: string, budget: SearchBudget): ModelRates | null {
    if (model === '' || model.length > nameCharactersMax || provider.length > nameCharactersMax) return null;
    const key = `${provider}\n${model}`;
    const known = this.#memo.get(key);
    if (known !== undefined) return known.rates;
    if (budget.left <= 0) return null;
    budget.left--;
    const found = search(provider, model);
    this.#memo.set(key, { rates: found });
    return found;
  }
}

function search(provider: string, model: string): ModelRates | null {
  const providerId = providerIds.get(provider) ?? provider;
  if (unlistedProviders.has(providerId)) return null;
  const found = findModel(model, { providerId }) ?? (mayBeElsewhere(providerId) ? findModel(model, {}) : null);
  return found && compileModel(found);
}

/** Of a host in the table, another host's price of the same open model would be a guess. */
function mayBeElsewhere(providerId: string): boolean {
  return ambiguousProviders.has(providerId) || findProvider({ providerId }) === undefined;
}

/** Without usage there is nothing to calculate, only to find. What the package throws over is a model it has no price for. */
function findModel(model: string, options: PriceOptions): ModelInfo | null {
  try {
    return calcPrice({}, model, options)?.model ?? null;
  } catch {
    return null;
  }
}

/** The package does not export its package.json, which lies a folder above its entry. */
function packageVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@pydantic/genai-prices');
  const root = entry.slice(0, entry.lastIndexOf('dist'));
  return String(JSON.parse(readFileSync(`${root}package.json`, 'utf8')).version);
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { calcPrice, findProvider, type ModelInfo, type PriceOptions } from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';
import { compileModel, type ModelRates } from './model-rates.ts';

/**
 * How many more searches of the table one unit of work, such as a request body, may make. A search
 * takes about 0.1 ms.
 */
export interface SearchBudget {
  left: number;
}

const memoEntriesMax = 4_096;
/** No model name is longer. A hostile one may have a thousand characters. */
const nameCharactersMax = 256;

/**
 * The table's ids of providers that it knows by another name than ours, or whose name it reads as
 * another provider.
 */
const providerIds = new Map([
  ['azure.ai.openai', 'azure'],
  ['azure.ai.inference', 'azure'],
  ['gcp.gen_ai', 'google'],
  ['x_ai', 'x-ai'],
  ['moonshot_ai', 'moonshotai'],
  // This gateway names models `provider/model`, as LiteLLM does.
  ['gateway', 'litellm'],
]);

/**
 * Instrumentations of OpenAI's client send this name for every service that uses OpenAI's protocol.
 */
const ambiguousProviders = new Set(['openai']);

/**
 * These run on the user's own machine or on any host. A price guessed from the model's name would
 * be wrong.
 */
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

/**
 * The price table of the package genai-prices. Remembers the results of searches, including those
 * that found nothing.
 */
export class PriceTable {
  /** Package and version, as stored with every cost. */
  readonly version = `genai-prices@${packageVersion()}`;
  readonly #memo = new LRUCache<string, { rates: ModelRates | null }>({ max: memoEntriesMax });

  /**
   * Returns a model's prices at a provider. For a provider that the table does not know, returns
   * the prices of the maker of models with that name. Returns null when there are none, or when
   * `budget` is used up because a request body has many new names.
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

/**
 * Returns whether prices of other providers may be used. For a provider in the table, another
 * provider's price of the same open model would be a guess.
 */
function mayBeElsewhere(providerId: string): boolean {
  return ambiguousProviders.has(providerId) || findProvider({ providerId }) === undefined;
}

/**
 * Finds a model in the table, or null. The usage is empty because only the model is needed. The
 * package throws when it has no price for a model.
 */
function findModel(model: string, options: PriceOptions): ModelInfo | null {
  try {
    return calcPrice({}, model, options)?.model ?? null;
  } catch {
    return null;
  }
}

/**
 * Reads the version from package.json, one folder above the package's entry, because the package
 * does not export that file.
 */
function packageVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@pydantic/genai-prices');
  const root = entry.slice(0, entry.lastIndexOf('dist'));
  return String(JSON.parse(readFileSync(`${root}package.json`, 'utf8')).version);
}

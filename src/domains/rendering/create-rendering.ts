import type { Postgres } from '../../stores/postgres/client.ts';
import type { PartContent } from '../parts/index.ts';
import { overrideCacheOf, PriceTable } from '../pricing/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import { type TemplateThreads, TokenCounter } from '../templates/index.ts';
import type { ItemCache } from '../versioned/index.ts';
import { CompiledPrompts } from './compiled-prompts.ts';
import { createPartSource } from './load-parts.ts';
import type { ValidateDeps } from './validate-draft.ts';

/** Creates the caches and counters that renders share. Called once per process. */
export function createRendering(deps: {
  postgres: Postgres;
  threads: TemplateThreads;
  prompts: ItemCache<PromptContent>;
  parts: ItemCache<PartContent>;
  requireBudget?: ValidateDeps['requireBudget'];
}): ValidateDeps {
  const { postgres, threads, prompts, parts, requireBudget } = deps;
  const source = createPartSource({ parts, threads });
  return {
    ...{ postgres, threads, prompts, source, requireBudget },
    compiled: new CompiledPrompts(prompts, source),
    tokens: new TokenCounter(threads),
    prices: { table: new PriceTable(), overrides: overrideCacheOf(postgres) },
  };
}

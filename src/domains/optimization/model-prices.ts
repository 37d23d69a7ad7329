import { InvalidError } from '../../lib/errors.ts';
import type { SearchConfig } from '../prompt-search/index.ts';
import type { CallPrices } from './call-prices.ts';
import { judgeModelsOf } from './estimate-run.ts';
import type { RunWarning } from './run.ts';

/** Returns the models that a run calls. */
export function modelsOf(config: SearchConfig): string[] {
  const { algorithm, target, reflection } = config;
  return [
    ...new Set([target.model, ...(algorithm === 'few_shot' ? [] : [reflection.model]), ...judgeModelsOf(config)]),
  ];
}

/** Returns the models of a run that have no price. */
export function unpricedModels(config: SearchConfig, prices: CallPrices): string[] {
  return modelsOf(config).filter((model) => prices.priceOf(model, { inputTokens: 1, outputTokens: 1 }) === null);
}

/**
 * Returns the models without a price for which a run cannot keep to its `max_cost_usd`, which would count their calls
 * as 0; none if it has no such limit.
 */
export function unlimitedModels(config: SearchConfig, prices: CallPrices): string[] {
  return config.budget.maxCostUsd === null ? [] : unpricedModels(config, prices);
}

/** @throws InvalidError `price_unknown` if a run cannot keep to its `max_cost_usd` */
export function requirePrices(config: SearchConfig, prices: CallPrices): void {
  const models = unlimitedModels(config, prices);
  if (models.length > 0) throw new InvalidError('price_unknown', needsPrices(models), { extra: { models } });
}

/** Says that a run with `max_cost_usd` needs prices of these models. */
export function needsPrices(models: readonly string[]): string {
  return `budget.max_cost_usd needs prices, and these models have none: ${models.join(', ')}. Set them in the model prices of the project`;
}

/** Returns the warning that a run has models without a price. */
export function unpricedWarning(models: readonly string[]): RunWarning {
  const message = `The cost cannot be estimated, because these models have no known price: ${models.join(', ')}. No budget counts what they cost.`;
  return { code: 'price_unknown', message };
}

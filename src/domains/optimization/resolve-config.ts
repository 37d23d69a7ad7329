import { check } from '../../http/faults.ts';
import { type Fault, InvalidError } from '../../lib/errors.ts';
import { type MetricConfig, type ModelConfig, outputLimits, type SearchConfig } from '../prompt-search/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import { modelOf } from '../rendering/index.ts';
import { type OptimizeBody, paramsBody } from './optimize.schema.ts';

/** The configured endpoint of models. */
export interface ModelDefaults {
  baseUrl: string | undefined;
  reflectionModel: string | undefined;
}

/** Parameters of a version's config that the requests of a run take over. */
const inheritedParams = [
  ...['temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'seed', 'stop', 'response_format'],
  ...['presence_penalty', 'frequency_penalty', 'reasoning_effort'],
] as const;

/** Without a limit, the largest response would have to be reserved for every call. */
const outputTokensDefault = { target: 1_024, reflection: 8_192 } as const;
const temperatureDefault = { target: 0, reflection: 1 } as const;

/**
 * Returns the config of a run with every default.
 * @param seed used if the request names none
 * @throws InvalidError `model_not_configured`, `invalid_body` for parameters of the version that no request may name
 */
export function resolveConfig(
  body: OptimizeBody,
  {
    base,
    models,
    metrics,
    seed,
  }: { base: PromptContent; models: ModelDefaults; metrics: readonly MetricConfig[]; seed: number },
): SearchConfig {
  requireEndpoint(models);
  const target = modelOf(base.config, body.target.model)?.model;
  if (target === undefined)
    throw notConfigured("Neither target.model nor the config of the prompt's version names a model.");
  const { budget, search } = body;
  const own = body.target.params ?? {};
  return {
    algorithm: body.algorithm,
    seed: body.seed ?? seed,
    metrics,
    target: {
      model: target,
      params: paramsOf('target', { ...inherited(base.config, own), ...own }),
      samplesPerRow: body.target.samples_per_row,
    },
    reflection: {
      model: body.reflection.model ?? models.reflectionModel ?? target,
      params: paramsOf('reflection', body.reflection.params ?? {}),
    },
    budget: {
      maxCalls: budget.max_calls,
      maxTokens: budget.max_tokens,
      maxCostUsd: budget.max_cost_usd,
      maxDurationS: budget.max_duration_s,
    },
    search: {
      maxIterations: search.max_iterations,
      patience: search.patience,
      minibatchSize: search.minibatch_size,
      valSize: search.val_size ?? null,
      concurrency: search.concurrency,
      maxPromptTokens: search.max_prompt_tokens ?? null,
      targetScore: search.target_score ?? null,
      guidance: search.guidance ?? null,
    },
    minEffect: body.min_effect,
  };
}

/** @throws InvalidError `model_not_configured` */
export function requireEndpoint({ baseUrl }: Pick<ModelDefaults, 'baseUrl'>): void {
  if (baseUrl !== undefined) return;
  throw notConfigured('No endpoint for models is configured. The operator sets it in LLM_BASE_URL.');
}

/**
 * Returns the parameters of a version's config that the request does not name itself. Null is the same as absent. A
 * limit of the response replaces the version's, however they are named.
 */
function inherited(config: PromptContent['config'], own: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given: unknown = config?.params;
  if (typeof given !== 'object' || given === null) return {};
  const isNamed = (name: string) =>
    Object.hasOwn(own, name) ||
    (outputLimits.includes(name) && outputLimits.some((limit) => Object.hasOwn(own, limit)));
  const taken = Object.fromEntries(
    inheritedParams.flatMap((name) => {
      const value: unknown = isNamed(name) || !Object.hasOwn(given, name) ? null : Reflect.get(given, name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const result = check(paramsBody, taken);
  if (!result.ok) refuseInherited(result.faults);
  return taken;
}

function refuseInherited(faults: readonly Fault[]): never {
  const errors = faults.map((fault) => ({
    ...fault,
    path: ['config.params', fault.path].filter((path) => path !== '').join('.'),
  }));
  const texts = errors.map(({ path, message }) => `${path} of the prompt's version: ${message}`).join('. ');
  throw new InvalidError('invalid_body', `${texts}. Name another value in target.params`, { errors });
}

function paramsOf(of: 'target' | 'reflection', given: Readonly<Record<string, unknown>>): ModelConfig['params'] {
  const isLimited = outputLimits.some((name) => name in given);
  return {
    ...('temperature' in given ? {} : { temperature: temperatureDefault[of] }),
    ...(isLimited ? {} : { max_tokens: outputTokensDefault[of] }),
    ...given,
  };
}

function notConfigured(message: string): InvalidError {
  return new InvalidError('model_not_configured', message);
}

import { z } from 'zod';
import type { SearchConfig } from '../prompt-search/index.ts';
import { executionsFilter } from './optimize.schema.ts';
import { algorithms, type Run, type RunOptions } from './run.ts';

const params = z.record(z.string(), z.unknown()).meta({ example: { temperature: 0, max_tokens: 400 } });
const limit = z.number().nullable();

/** The config of a run as the API shows it: that of the request, with every default. */
export const configSchema = z
  .object({
    base_version: z.int(),
    algorithm: z.enum(algorithms),
    dataset: z.object({ source: z.enum(['inline', 'executions']), filter: executionsFilter.nullable() }),
    metrics: z.array(
      z.object({
        type: z.string().meta({ example: 'exact_match' }),
        weight: z.number().optional(),
        gate: z.boolean().optional(),
        options: z.record(z.string(), z.unknown()).optional(),
      }),
    ),
    target: z.object({ model: z.string(), params, samples_per_row: z.int() }),
    reflection: z.object({ model: z.string(), params }),
    budget: z.object({
      max_calls: limit,
      max_tokens: limit,
      max_cost_usd: z.string().nullable().meta({ example: '5.000000' }),
      max_duration_s: limit,
    }),
    search: z.object({
      max_iterations: z.int(),
      patience: z.int(),
      minibatch_size: z.int(),
      val_size: limit,
      concurrency: z.int(),
      max_prompt_tokens: limit,
      target_score: limit,
      guidance: z.string().nullable(),
    }),
    holdout_fraction: z.number(),
    min_effect: z.number(),
    seed: z.int(),
    apply: z.enum(['never', 'if_improved']),
  })
  .meta({ id: 'OptimizationConfig' });

/** Converts the config of a run to its API form. */
export function configToWire(
  config: SearchConfig,
  { baseVersion, options }: { baseVersion: number; options: RunOptions },
): z.infer<typeof configSchema> {
  const { algorithm, metrics, target, reflection, budget, search, minEffect, seed } = config;
  return {
    base_version: baseVersion,
    algorithm,
    dataset: { source: options.dataset_source, filter: options.dataset_filter },
    metrics: metrics.map(({ options: given, ...metric }) => ({ ...metric, ...(given && { options: { ...given } }) })),
    target: { model: target.model, params: { ...target.params }, samples_per_row: target.samplesPerRow },
    reflection: { model: reflection.model, params: { ...reflection.params } },
    budget: {
      max_calls: budget.maxCalls,
      max_tokens: budget.maxTokens,
      max_cost_usd: budget.maxCostUsd,
      max_duration_s: budget.maxDurationS,
    },
    search: {
      max_iterations: search.maxIterations,
      patience: search.patience,
      minibatch_size: search.minibatchSize,
      val_size: search.valSize,
      concurrency: search.concurrency,
      max_prompt_tokens: search.maxPromptTokens,
      target_score: search.targetScore,
      guidance: search.guidance,
    },
    holdout_fraction: options.holdout_fraction,
    min_effect: minEffect,
    seed,
    apply: options.apply,
  };
}

/** The path of a run. */
export function pathOfRun({ projectId, promptId, id }: Pick<Run, 'projectId' | 'promptId' | 'id'>): string {
  return `/api/projects/${projectId}/prompts/${promptId}/optimization-runs/${id}`;
}

import { z } from 'zod';
import { jsonObject } from '../../lib/json-object.ts';
import { jsonSchemaOf } from '../../lib/json-schema-of.ts';
import { hasAtMostValues } from '../../lib/json-values.ts';
import { formatUsd, parseUsd } from '../../lib/money.ts';
import { type MetricConfig, metricsBody } from '../prompt-search/index.ts';
import { versionNumber } from '../versioned/index.ts';
import { algorithms, callsMax } from './run.ts';

/** Bounds of a request for a run. Sizes count the bytes of the body. */
export const optimizeLimits = {
  bodyBytesMax: 5 * 1024 * 1024,
  rowsMax: 1_000,
  /** Strings, numbers, lists and objects of one row. */
  rowValuesMax: 1_000,
  /** Characters of one row as JSON. Each judge gets a row as a whole. */
  rowCharsMax: 262_144,
  executionsMax: 1_000,
  /** Variables that a prompt requires: as many as a row can have values. */
  requiredVariablesMax: 1_000,
} as const;

const paramValuesMax = 200;
/** Characters of the parameters as JSON. They go into every request to the model. */
const paramCharsMax = 16_384;
/** Members of a request to a model that the run sets. */
const ownParams = ['model', 'messages', 'stream', 'stream_options', 'n', 'best_of'] as const;

const model = z.string().min(1).max(200);
const outputTokens = z.int().min(1).max(128_000);
export const paramsBody = z
  .looseObject({
    temperature: z.number().min(0).max(2).optional(),
    top_p: z.number().min(0).max(1).optional(),
    max_tokens: outputTokens.optional(),
    max_completion_tokens: outputTokens.optional(),
  })
  .superRefine((given, context) => {
    for (const name of ownParams) {
      if (Object.hasOwn(given, name))
        context.addIssue({ code: 'custom', path: [name], message: 'is set by the run and cannot be a parameter' });
    }
    if (!hasAtMostValues(given, paramValuesMax))
      context.addIssue({ code: 'custom', message: `must have at most ${paramValuesMax} values`, path: [] });
    if (JSON.stringify(given).length > paramCharsMax)
      context.addIssue({ code: 'custom', message: `must have at most ${paramCharsMax} characters as JSON`, path: [] });
  })
  .meta({
    description: 'Parameters of every request, such as temperature',
    example: { temperature: 0, max_tokens: 400 },
  });

const target = z.strictObject({
  model: model.optional().meta({ description: "Default: the model of the version's config" }),
  params: paramsBody.optional(),
  samples_per_row: z.int().min(1).max(10).default(1),
});
const reflection = z.strictObject({
  model: model.optional().meta({ description: 'Default: the configured reflection model, otherwise that of `target`' }),
  params: paramsBody.optional(),
});

const usd = z
  .union([z.string(), z.number()])
  .meta({ description: 'US dollars as a decimal string or a number, more than 0', example: '5.00' })
  .transform((given, context) => {
    const nanoUsd = parseUsd(given);
    if (nanoUsd !== undefined && nanoUsd > 0n) return formatUsd(nanoUsd);
    const message = 'must be more than 0 and less than 1000000000 US dollars, such as "5.00"';
    context.addIssue({ code: 'custom', message, input: given });
    return z.NEVER;
  });

const defaultBudget = { max_calls: 500, max_tokens: null, max_cost_usd: null, max_duration_s: 3_600 };
const budget = z
  .strictObject({
    max_calls: z.int().min(1).max(callsMax).nullable().default(defaultBudget.max_calls),
    max_tokens: z.int().min(1).max(10_000_000_000).nullable().default(null),
    max_cost_usd: usd.nullable().default(null),
    max_duration_s: z.int().min(1).max(86_400).nullable().default(defaultBudget.max_duration_s),
  })
  .refine((given) => Object.values(given).some((limit) => limit !== null), 'must have at least one limit')
  .meta({
    description: `Limits of the run. Null is no limit; a run makes at most ${callsMax} calls in any case`,
    example: { max_calls: 500, max_cost_usd: '5.00' },
  });

const search = z.strictObject({
  max_iterations: z.int().min(1).max(10_000).default(100),
  patience: z.int().min(1).max(10_000).default(25).meta({ description: 'Iterations without a better candidate' }),
  minibatch_size: z.int().min(1).max(20).default(4),
  val_size: z.int().min(1).max(200).nullish().meta({ description: 'Validation rows; default: by the calls' }),
  concurrency: z.int().min(1).max(32).default(8),
  max_prompt_tokens: z.int().min(1).max(100_000).nullish(),
  target_score: z.number().min(0).max(1).nullish().meta({ description: 'The search stops at this score' }),
  guidance: z.string().max(4_000).nullish().meta({ description: 'What the owner of the prompt wants kept or changed' }),
});

const split = z.enum(['train', 'val', 'holdout']);
export const rowBody = z
  .strictObject({
    inputs: jsonObject,
    expected: z.unknown().optional(),
    split: split.optional(),
    weight: z.number().positive().max(1_000).optional(),
    note: z.string().max(4_000).optional(),
  })
  .refine((row) => hasAtMostValues(row, optimizeLimits.rowValuesMax), {
    error: `must have at most ${optimizeLimits.rowValuesMax} values`,
    abort: true,
  })
  .refine((row) => JSON.stringify(row).length <= optimizeLimits.rowCharsMax, {
    error: `must have at most ${optimizeLimits.rowCharsMax} characters as JSON`,
  });

const rowExample = { inputs: { question: 'Where is my order?' }, expected: 'shipping' };

const inline = z.strictObject({
  source: z.literal('inline'),
  // This schema only documents the rows. check-rows.ts validates each of them with `rowBody`.
  rows: z.array(z.unknown()).meta({
    description:
      'The inputs of the prompt, and what its output should be. `expected` is text or any other JSON value; null is the same as absent. ' +
      `Without \`split\`, rows are divided by a hash of their inputs. A row has at most ${optimizeLimits.rowCharsMax} characters as JSON`,
    items: jsonSchemaOf(rowBody),
    maxItems: optimizeLimits.rowsMax,
    example: [rowExample],
  }),
});

const time = z.iso.datetime({ offset: true });
export const executionsFilter = z.strictObject({
  from: time.optional().meta({ description: 'Only executions that started then or later' }),
  to: time.optional().meta({ description: 'Only executions that started before' }),
  feedback: z.enum(['any', 'positive', 'negative', 'corrected']).default('any'),
  limit: z.int().min(1).max(optimizeLimits.executionsMax).default(500),
});
export type ExecutionsFilter = z.output<typeof executionsFilter>;

const executions = z.strictObject({
  source: z.literal('executions'),
  filter: executionsFilter.prefault({}),
});

export const optimizeBody = z
  .strictObject({
    base_version: versionNumber.optional().meta({ description: 'The version to start from; default: the newest' }),
    algorithm: z.enum(algorithms).default('reflective'),
    dataset: z
      .discriminatedUnion('source', [inline, executions])
      .prefault({ source: 'executions' })
      .meta({ description: 'Default: executions of the prompt that have feedback' }),
    // The options of every type are an object.
    metrics: metricsBody
      .transform((metrics) => metrics as MetricConfig[])
      .optional()
      .meta({ description: 'Default: a metric that fits the expected values' }),
    target: target.prefault({}),
    reflection: reflection.prefault({}),
    budget: budget.prefault({}),
    search: search.prefault({}),
    holdout_fraction: z.number().min(0).max(0.6).default(0.3),
    min_effect: z.number().min(0).max(1).default(0),
    seed: z.int().min(0).max(2_147_483_647).optional().meta({ description: 'Default: a random number' }),
    apply: z
      .enum(['never', 'if_improved'])
      .default('never')
      .meta({ description: 'Whether an improvement becomes a version' }),
    dry_run: z.boolean().default(false).meta({ description: 'Whether to plan the run without storing it' }),
  })
  .prefault({})
  .meta({
    example: {
      dataset: { source: 'inline', rows: [rowExample] },
      metrics: [{ type: 'exact_match' }],
      budget: { max_calls: 500 },
    },
  });

export type OptimizeBody = z.output<typeof optimizeBody>;

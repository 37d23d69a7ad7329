import { z } from 'zod';
import { formatUsd } from '../../lib/money.ts';
import type { Decision, Interval } from '../prompt-search/index.ts';
import { configSchema, configToWire, pathOfRun } from './config.schema.ts';
import { algorithms, type CandidateCounts, outcomes, type Run, type RunSummary, runStates } from './run.ts';

const time = z.iso.datetime();
const usd = z.string().meta({ description: 'US dollars as a decimal string', example: '0.410000' });
const ci95 = z.tuple([z.number(), z.number()]).meta({ description: '95 % confidence interval', example: [0.42, 0.73] });
const interval = z.object({ mean: z.number(), ci95 });
const difference = z.number().nullable();

const links = z.object({ self: z.string() });
const identity = {
  run_id: z.string().meta({ example: 'opt_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  id: z.string().meta({ description: 'The same as `run_id`', example: 'opt_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  prompt_id: z.string(),
  base_version: z.int().meta({ description: 'The version that the run started from' }),
  created_at: time,
  links,
};

export const warningSchema = z.object({ code: z.string().meta({ example: 'low_budget' }), message: z.string() });
export const planSchema = z
  .object({
    rows: z.object({
      train: z.int(),
      val: z.int(),
      holdout: z.int(),
      dropped: z.int().meta({ description: 'Rows that the run cannot use; `warnings` has the reasons' }),
      unused: z.int().meta({ description: 'Rows of the holdout that it has no room for. No run searches with them' }),
    }),
    estimated_proposals: z.tuple([z.int(), z.int()]).meta({ example: [9, 22] }),
    estimated_cost_usd: z.tuple([usd, usd]).nullable(),
    reserved_for_holdout_calls: z.int(),
  })
  .meta({ id: 'OptimizationPlan' });

const scoreSchema = z
  .object({
    split: z.enum(['holdout', 'val']),
    n: z.int(),
    base: interval,
    best: interval,
    delta: interval.extend({
      p: z.number().nullable().meta({ description: "McNemar's exact test, for scores of 0 and 1" }),
    }),
  })
  .meta({ id: 'OptimizationScore' });

const usageSchema = z.object({
  calls: z.int(),
  task_calls: z.int(),
  reflection_calls: z.int(),
  judge_calls: z.int(),
  tokens_in: z.int(),
  tokens_out: z.int(),
  cost_usd: usd.nullable().meta({ description: 'Null if a model that the run calls has no price' }),
  estimated: z.boolean().meta({ description: 'Whether a part is estimated, because the endpoint did not report it' }),
});

const deltaSchema = z
  .object({
    prompt_tokens: difference,
    output_tokens: difference,
    cost_per_1k_calls_usd: usd.nullable(),
    latency_ms_p50: difference,
    latency_ms_p95: difference,
    ci95: z.object({
      prompt_tokens: ci95.nullable(),
      output_tokens: ci95.nullable(),
      cost_per_1k_calls_usd: z.tuple([usd, usd]).nullable(),
    }),
  })
  .meta({ id: 'OptimizationDelta' });

export const runSchema = z
  .object({
    ...identity,
    status: z.enum(runStates),
    outcome: z.enum(outcomes).nullable().meta({ description: 'Null unless the run has completed' }),
    finish_reason: z.string().nullable().meta({ example: 'budget_calls' }),
    algorithm: z.enum(algorithms),
    applied_version: z.int().nullable().meta({ description: 'The version that was made of a candidate' }),
    applied_candidate_id: z.string().nullable(),
    score: scoreSchema.nullable(),
    usage: usageSchema,
    delta: deltaSchema.nullable().meta({ description: 'What changed besides the score: the winner minus the base' }),
    candidates: z.object({
      proposed: z.int(),
      invalid: z.int(),
      gate_rejected: z.int(),
      raced_out: z.int(),
      pool: z.int().meta({ description: 'Candidates that were fully evaluated, with the base' }),
    }),
    fraction: z.number().meta({ description: 'Share of the limits that is used up, from 0 to 1' }),
    created_by: z.string().nullable(),
    started_at: time.nullable(),
    finished_at: time.nullable(),
  })
  .meta({ id: 'OptimizationRun' });

/** The response to a new run. */
export const createdRunSchema = z
  .object({
    ...identity,
    status: z.enum(runStates),
    config: configSchema,
    plan: planSchema,
    warnings: z.array(warningSchema),
  })
  .meta({ id: 'CreatedOptimizationRun' });

/** Converts a run to its API form in lists. */
export function runToWire(run: RunSummary, counts: CandidateCounts): z.infer<typeof runSchema> {
  const { usage, decision, createdBy } = run;
  return {
    ...identityToWire(run),
    status: run.state,
    outcome: run.outcome,
    finish_reason: run.finishReason,
    algorithm: run.config.algorithm,
    applied_version: run.appliedVersion,
    applied_candidate_id: run.appliedCandidateId,
    score: scoreToWire(decision),
    usage: {
      calls: usage.calls,
      task_calls: usage.taskCalls,
      reflection_calls: usage.reflectCalls,
      judge_calls: usage.judgeCalls,
      tokens_in: usage.inputTokens,
      tokens_out: usage.outputTokens,
      cost_usd: run.plan.estimated_cost_usd === null ? null : formatUsd(usage.costNanoUsd),
      estimated: usage.estimated,
    },
    delta: decision && deltaToWire(decision.delta),
    candidates: {
      proposed: counts.proposed ?? 0,
      invalid: counts.rejected_invalid ?? 0,
      gate_rejected: counts.rejected_gate ?? 0,
      raced_out: counts.raced_out ?? 0,
      pool: counts.pool ?? 0,
    },
    fraction: run.progress.fraction,
    created_by: createdBy.id ?? createdBy.type,
    started_at: run.startedAt?.toISOString() ?? null,
    finished_at: run.finishedAt?.toISOString() ?? null,
  };
}

/** Converts a new run to the response of its creation. */
export function createdRunToWire(run: Run): z.infer<typeof createdRunSchema> {
  const { config, plan, warnings, state: status } = run;
  return { ...identityToWire(run), status, config: configToWire(config, run), plan, warnings: [...warnings] };
}

function identityToWire(run: Pick<Run, 'id' | 'projectId' | 'promptId' | 'baseVersion' | 'createdAt'>) {
  const { id, promptId, baseVersion, createdAt } = run;
  const links = { self: pathOfRun(run) };
  return {
    ...{ run_id: id, id, prompt_id: promptId, base_version: baseVersion },
    created_at: createdAt.toISOString(),
    links,
  };
}

function scoreToWire(decision: Pick<Decision, 'score'> | null): z.infer<typeof scoreSchema> | null {
  if (decision === null || decision.score === null) return null;
  const { split, n, base, best, delta } = decision.score;
  return { split, n, base: toInterval(base), best: toInterval(best), delta: { ...toInterval(delta), p: delta.p } };
}

function deltaToWire(delta: Decision['delta']): z.infer<typeof deltaSchema> {
  const cost = delta.costPer1kCallsUsd;
  return {
    prompt_tokens: delta.promptTokens?.mean ?? null,
    output_tokens: delta.outputTokens?.mean ?? null,
    cost_per_1k_calls_usd: cost && usdOf(cost.mean),
    latency_ms_p50: delta.latencyMsP50,
    latency_ms_p95: delta.latencyMsP95,
    ci95: {
      prompt_tokens: delta.promptTokens && toInterval(delta.promptTokens).ci95,
      output_tokens: delta.outputTokens && toInterval(delta.outputTokens).ci95,
      cost_per_1k_calls_usd: cost && [usdOf(cost.ci95[0]), usdOf(cost.ci95[1])],
    },
  };
}

const usdOf = (usdNumber: number) => formatUsd(BigInt(Math.round(usdNumber * 1e9)));

function toInterval({ mean, ci95: [low, high] }: Interval): { mean: number; ci95: [number, number] } {
  return { mean, ci95: [low, high] };
}

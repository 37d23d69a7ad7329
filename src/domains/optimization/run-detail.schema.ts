import { z } from 'zod';
import { formatUsd } from '../../lib/money.ts';
import { textFields, textToWire, valSchema } from './candidate.schema.ts';
import type { StoredCandidate } from './candidate-store.ts';
import { configSchema, configToWire } from './config.schema.ts';
import { progressToWire } from './event-data.ts';
import { planSchema, runSchema, runToWire, warningSchema } from './run.schema.ts';
import type { CandidateCounts, Run } from './run.ts';

const time = z.iso.datetime();
const phases = ['preparing', 'baseline', 'search', 'holdout', 'finalizing'] as const;

const progressSchema = z
  .object({
    phase: z.enum(phases),
    fraction: z.number(),
    calls_used: z.int(),
    best_val: z.number().nullable(),
    best_candidate_id: z.string().nullable(),
    iteration: z.int(),
    updated_at: time,
  })
  .meta({ id: 'OptimizationProgress' });

const bestSchema = z
  .object({
    candidate_id: z.string(),
    ...textFields,
    diff: z
      .string()
      .nullable()
      .meta({ description: 'Unified diff from the prompt as it was. Null if it took too long' }),
    hypothesis: z.string().nullable(),
    val: valSchema.nullable().meta({ description: 'On the validation rows, which chose it, so it is optimistic' }),
    holdout: z
      .object({ mean: z.number(), ci95: z.tuple([z.number(), z.number()]), n: z.int() })
      .nullable()
      .meta({ description: 'On rows that the search never saw' }),
  })
  .meta({ id: 'OptimizationBest' });

const frontierSchema = z
  .object({
    candidate_id: z.string(),
    val_score: z.number(),
    prompt_tokens: z.int(),
    cost: z.string().nullable().meta({ description: 'US dollars per call', example: '0.000120' }),
    latency: z.number().meta({ description: 'Milliseconds per call' }),
    on_front_for_rows: z.int().meta({ description: 'Validation rows on which no candidate is better' }),
  })
  .meta({ id: 'OptimizationFrontier' });

export const runDetailSchema = runSchema
  .extend({
    config: configSchema,
    plan: planSchema,
    progress: progressSchema,
    best: bestSchema.nullable().meta({ description: 'The winner, or the best so far' }),
    frontier: z.array(frontierSchema).meta({
      description:
        'Candidates that no other beats in score, length, cost and latency, on the rows that chose them: optimistic',
    }),
    score_history: z.array(z.object({ call: z.int(), best_val: z.number() })),
    warnings: z.array(warningSchema),
    error: z.object({ code: z.string().meta({ example: 'evaluation_failed' }), message: z.string() }).nullable(),
    attempt: z.int().meta({ description: 'Workers that have had the run' }),
  })
  .meta({ id: 'OptimizationRunDetail' });

/** The best candidate of a run, and its difference to the prompt as it was. */
export interface Best {
  candidate: StoredCandidate;
  diff: string | null;
}

/** Converts a run to its API form with everything about it. */
export function runDetailToWire(
  run: Run,
  { counts, best }: { counts: CandidateCounts; best: Best | undefined },
): z.infer<typeof runDetailSchema> {
  return {
    ...runToWire(run, counts),
    config: configToWire(run.config, run),
    plan: run.plan,
    progress: progressToWire(run.progress, run.usage.calls),
    best: best === undefined ? null : bestToWire(run, best),
    frontier: (run.decision?.frontier ?? []).map((each) => ({
      candidate_id: each.candidateId,
      val_score: each.valScore,
      prompt_tokens: each.promptTokens,
      cost: each.costNanoUsd === null ? null : formatUsd(BigInt(Math.round(each.costNanoUsd))),
      latency: each.latencyMs,
      on_front_for_rows: each.onFrontForRows,
    })),
    score_history: run.scoreHistory.map(({ call, best_val }) => ({ call, best_val })),
    warnings: [...run.warnings],
    error: run.error,
    attempt: run.attempt,
  };
}

function bestToWire({ decision }: Run, { candidate, diff }: Best): z.infer<typeof bestSchema> {
  return {
    candidate_id: candidate.id,
    ...textToWire(candidate.content),
    diff,
    hypothesis: candidate.hypothesis,
    val: candidate.val,
    holdout: holdoutOf(decision),
  };
}

function holdoutOf(decision: Run['decision']): z.infer<typeof bestSchema>['holdout'] {
  if (decision?.score?.split !== 'holdout') return null;
  const { best, n } = decision.score;
  return { mean: best.mean, ci95: [best.ci95[0], best.ci95[1]], n };
}

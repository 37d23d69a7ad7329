import { z } from 'zod';
import { formatUsd } from '../../lib/money.ts';
import { usageSchema, usageToWire } from '../executions/index.ts';
import { noUsage } from '../spans/index.ts';
import { granularities } from './buckets.ts';
import { type FeedbackSums, noFeedback } from './feedback-of-prompt.ts';
import { type CallSums, groupings } from './prompt-analytics-queries.ts';
import { windowQuery } from './stats.schema.ts';

export const promptAnalyticsQuery = z.strictObject({
  ...windowQuery,
  group_by: z.enum(groupings).default('version').meta({ description: 'What the groups of calls are' }),
  compare: z
    .string()
    .regex(/^[1-9]\d{0,8},[1-9]\d{0,8}$/, 'must be two versions, such as 3,4')
    .refine((text) => new Set(text.split(',')).size === 2, 'must be two different versions')
    .optional()
    .meta({ description: 'Two versions to compare: the second with the first', example: '3,4' }),
});

const count = z.int();
const ms = z.number().nullable();
const ratio = z.number().nullable();
const money = z.string().nullable();

const measures = {
  executions: count.meta({ description: 'Calls of the prompt, each counted once' }),
  traces: count.meta({ description: 'Executions with such a call' }),
  errors: count.meta({ description: 'Failed calls' }),
  error_rate: ratio.meta({ description: 'Failed calls per call; null without calls' }),
  latency_ms: z.object({ p50: ms, p75: ms, p95: ms, p99: ms }).meta({
    id: 'CallLatency',
    description: 'Percentiles of the durations of the calls, interpolated; null without calls',
  }),
  ttft_ms: z
    .object({ p50: ms, p95: ms })
    .meta({ id: 'CallTtft', description: 'Percentiles of the time to the first token, over the calls that report it' }),
  usage: usageSchema,
  cost: z.object({ total: money, avg: money, p95: money }).meta({
    id: 'CallCost',
    description:
      'US dollars as decimal strings, over the calls with a known cost. `total` is null if no cost is known and that of at least one call is not',
  }),
  unpriced_spans: count.meta({ description: 'Calls that count and whose cost is not known' }),
  first_used_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable(),
  unique_users: count,
};
const feedback = z.object({ count, mean: ratio, positive_rate: ratio }).meta({
  id: 'CallFeedback',
  description: 'Feedback on the calls, their executions and the prompt. Rates are those of scored feedback',
});
const key = z.union([z.string(), z.int()]).nullable().meta({
  description:
    'The version as a number, or the model, environment or label, of which the first 256 characters count. Null for calls without one',
});

const totalsSchema = z.object({ ...measures, feedback }).meta({ id: 'PromptCalls' });
const groupSchema = z.object({ key, ...measures, feedback }).meta({ id: 'PromptCallGroup' });

export const comparisonSchema = z.object({
  a: totalsSchema,
  b: totalsSchema,
  deltas: z
    .record(z.string(), z.object({ absolute: ratio, relative: ratio }))
    .meta({ description: 'What `b` has more than `a`, absolute and relative to `a`' }),
  sample_sizes: z.object({ a: count, b: count }),
  significant: z.boolean().meta({ description: 'Whether any of the tests is significant' }),
  tests: z
    .array(z.object({ measure: z.string(), test: z.string(), p_value: ratio, significant: z.boolean() }))
    .meta({ description: 'p-values are corrected for the number of tests (Holm); null below 30 calls of a version' }),
});

export const promptAnalyticsSchema = z.object({
  window: z.object({ from: z.iso.datetime(), to: z.iso.datetime() }),
  granularity: z.enum(granularities),
  tz: z.string(),
  group_by: z.enum(groupings),
  totals: totalsSchema,
  groups: z.array(groupSchema).meta({ description: 'Those with most calls first' }),
  groups_omitted: count.meta({ description: 'Groups beyond the limit, which are part of `totals` only' }),
  series: z
    .array(
      z.object({ bucket: z.iso.datetime(), partial: z.boolean(), key, ...measures }).meta({ id: 'PromptCallBucket' }),
    )
    .meta({
      description:
        'Every bucket of the first groups, empty ones as well, in order of time: at most 5,000, whose keys have at most 2 MiB',
    }),
  comparison: comparisonSchema.optional(),
  feedback_truncated: z
    .boolean()
    .meta({ description: 'Whether there is more feedback than is counted. The newest is counted' }),
  data_as_of: z.iso.datetime().nullable().meta({
    description: 'Everything that was received before this time is included. Null while the queue is unavailable',
  }),
});

export type GroupWire = z.infer<typeof totalsSchema>;

/** Converts the sums of calls to their API JSON, without feedback. */
export function callsToWire(sums: CallSums | undefined) {
  const { executions = 0, errors = 0, priced = 0, unpriced = 0, costUnknown = 0 } = sums ?? {};
  const [p50 = null, p75 = null, p95 = null, p99 = null] = executions === 0 ? [] : (sums?.latencyMs ?? []);
  const [ttft50 = null, ttft95 = null] = sums === undefined || sums.timed === 0 ? [] : sums.ttftMs;
  const cost = BigInt(sums?.cost ?? 0);
  return {
    executions,
    traces: sums?.traces ?? 0,
    errors,
    error_rate: executions === 0 ? null : errors / executions,
    latency_ms: { p50, p75, p95, p99 },
    ttft_ms: { p50: ttft50, p95: ttft95 },
    usage: usageToWire(sums ?? noUsage()),
    cost: {
      total: priced === 0 && costUnknown > 0 ? null : formatUsd(cost),
      avg: priced === 0 ? null : formatUsd(rounded(cost, BigInt(priced))),
      p95: priced === 0 ? null : formatUsd(BigInt(Math.round(sums?.costP95 ?? 0))),
    },
    unpriced_spans: unpriced,
    first_used_at: sums === undefined || executions === 0 ? null : timeOf(sums.firstNano),
    last_used_at: sums === undefined || executions === 0 ? null : timeOf(sums.lastNano),
    unique_users: sums?.users ?? 0,
  };
}

/** Converts the numbers of feedback to their API JSON. */
export function feedbackToWire({ count: all, scored, score, positive }: FeedbackSums = noFeedback()) {
  return {
    count: all,
    mean: scored === 0 ? null : score / scored,
    positive_rate: scored === 0 ? null : positive / scored,
  };
}

function rounded(dividend: bigint, divisor: bigint): bigint {
  return (2n * dividend + divisor) / (2n * divisor);
}

function timeOf(nanos: string): string {
  return new Date(Number(BigInt(nanos) / 1_000_000n)).toISOString();
}

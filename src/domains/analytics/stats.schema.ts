import { z } from 'zod';
import { formatUsd } from '../../lib/money.ts';
import { usageSchema, usageToWire } from '../executions/index.ts';
import { noUsage } from '../spans/index.ts';
import { granularities, isTimeZone } from './buckets.ts';
import type { Sums, TopRows } from './stats-queries.ts';

const time = z.iso.datetime({ offset: true }).optional();

/** The window, its buckets and their time zone. */
export const windowQuery = {
  from: time.meta({ description: 'What started at or after this time; default: seven days before `to`' }),
  to: time.meta({ description: 'What started before this time; default: now' }),
  granularity: z
    .enum(['auto', ...granularities])
    .default('auto')
    .meta({ description: 'Length of a bucket. `auto` is the finest with at most 100 buckets' }),
  tz: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be a time zone of the IANA database, such as Europe/Berlin')
    .default('UTC')
    .meta({ description: 'The time zone whose hours, days and weeks the buckets are', example: 'Europe/Berlin' }),
};

export const statsQuery = z.strictObject(windowQuery);

const count = z.int();
const money = z.string().nullable().meta({
  description: 'US dollars as a decimal string; null if something was used and no cost is known',
  example: '0.001234',
});
const ms = z.number().nullable();
const ratio = z.number().nullable();

const measures = {
  executions: count,
  spans: count,
  errors: count.meta({ description: 'Failed executions' }),
  error_rate: ratio.meta({ description: 'Failed executions per execution; null without executions' }),
  users: count.meta({ description: 'Distinct values of `user_id`' }),
  sessions: count.meta({ description: 'Distinct values of `session_id`' }),
  usage: usageSchema,
  cost: money,
  unpriced_spans: count,
  latency_ms: z.object({ p50: ms, p75: ms, p95: ms, p99: ms }).meta({
    id: 'ExecutionLatency',
    description: 'Percentiles of the durations of the executions, interpolated; null without executions',
  }),
};

const measuresSchema = z.object(measures).meta({ id: 'Stats' });
const bucketSchema = z
  .object({
    bucket: z.iso.datetime().meta({ description: 'The start of the bucket' }),
    partial: z.boolean().meta({ description: 'Whether the window or the present cuts the bucket' }),
    ...measures,
  })
  .meta({ id: 'StatsBucket' });

export const statsSchema = z.object({
  window: z.object({ from: z.iso.datetime(), to: z.iso.datetime() }),
  granularity: z.enum(granularities),
  tz: z.string(),
  totals: measuresSchema,
  previous: measuresSchema.meta({ description: 'The same of the window of the same length before' }),
  change: z.record(z.string(), ratio).meta({
    description: 'Changes from `previous` to `totals`: 0.5 is half more. Null if the previous value is 0 or null',
  }),
  series: z.array(bucketSchema).meta({ description: 'Every bucket of the window, empty ones as well' }),
  top: z
    .object({
      prompts: z.array(
        z.object({
          prompt_id: z.string().nullable(),
          name: z.string().nullable(),
          calls: count,
          errors: count,
          cost: z.string(),
        }),
      ),
      models: z.array(
        z.object({
          model: z.string(),
          provider: z.string().nullable(),
          calls: count,
          errors: count,
          total_tokens: count,
          cost: z.string(),
        }),
      ),
      users: z.array(z.object({ user_id: z.string(), executions: count, errors: count, cost: z.string() })),
      errors: z.array(z.object({ type: z.string().nullable(), spans: count, executions: count })),
    })
    .meta({ description: 'The ten most frequent of each kind. Costs contain what is known' }),
  data_as_of: z.iso.datetime().nullable().meta({
    description: 'Everything that was received before this time is included. Null while the queue is unavailable',
  }),
});

export type MeasuresWire = z.infer<typeof measuresSchema>;

/** Converts sums to their API JSON. Without sums, everything is 0 or unknown. */
export function sumsToWire(sums: Sums | undefined): MeasuresWire {
  const { executions = 0, errors = 0, priced = 0, unpricedSpans = 0, latencyMs = [] } = sums ?? {};
  const [p50 = null, p75 = null, p95 = null, p99 = null] = executions === 0 ? [] : latencyMs;
  return {
    executions,
    spans: sums?.spans ?? 0,
    errors,
    error_rate: executions === 0 ? null : errors / executions,
    users: sums?.users ?? 0,
    sessions: sums?.sessions ?? 0,
    usage: usageToWire(sums ?? noUsage()),
    cost: priced === 0 && unpricedSpans > 0 ? null : formatUsd(BigInt(sums?.cost ?? 0)),
    unpriced_spans: unpricedSpans,
    latency_ms: { p50, p75, p95, p99 },
  };
}

const changing = {
  executions: (of: MeasuresWire) => of.executions,
  spans: (of: MeasuresWire) => of.spans,
  errors: (of: MeasuresWire) => of.errors,
  error_rate: (of: MeasuresWire) => of.error_rate,
  users: (of: MeasuresWire) => of.users,
  sessions: (of: MeasuresWire) => of.sessions,
  total_tokens: (of: MeasuresWire) => of.usage.total_tokens,
  cost: (of: MeasuresWire) => (of.cost === null ? null : Number(of.cost)),
  unpriced_spans: (of: MeasuresWire) => of.unpriced_spans,
  latency_p50_ms: (of: MeasuresWire) => of.latency_ms.p50,
  latency_p95_ms: (of: MeasuresWire) => of.latency_ms.p95,
} as const;

/** Returns the relative change of every measure. */
export function changeOf(now: MeasuresWire, before: MeasuresWire): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(changing).map(([name, read]) => {
      const [from, to] = [read(before), read(now)];
      return [name, from === null || to === null || from === 0 ? null : to / from - 1];
    }),
  );
}

/** Converts the most frequent values to their API JSON; '' becomes null. */
export function topToWire(top: { [Kind in keyof TopRows]: TopRows[Kind][] }): z.infer<typeof statsSchema>['top'] {
  const usd = (nanoUsd: string) => formatUsd(BigInt(nanoUsd));
  return {
    prompts: top.calls.flatMap(({ isPrompt, promptId, promptName, callCount, failed, cost }) =>
      isPrompt === 0
        ? []
        : { prompt_id: promptId || null, name: promptName || null, calls: callCount, errors: failed, cost: usd(cost) },
    ),
    models: top.calls.flatMap(({ isPrompt, model, provider, callCount, failed, totalTokens, cost }) =>
      isPrompt === 1
        ? []
        : {
            model,
            provider: provider || null,
            calls: callCount,
            errors: failed,
            total_tokens: totalTokens,
            cost: usd(cost),
          },
    ),
    users: top.users.map(({ name, executions, errors, cost }) => ({
      user_id: name,
      executions,
      errors,
      cost: usd(cost),
    })),
    errors: top.errors.map(({ name, spans, executions }) => ({ type: name || null, spans, executions })),
  };
}

import { z } from 'zod';
import { executionSchema, usageSchema } from './executions.schema.ts';
import { spanSchema } from './span.schema.ts';

const { cost } = executionSchema.shape;
const count = z.number().int();
const offset = z.number().meta({ description: 'Milliseconds after the start of the trace' });
const warnings = z.array(z.string());

const timelineSpan = z
  .object({
    span_id: z.string(),
    parent_span_id: z
      .string()
      .nullable()
      .meta({ description: 'Null for a root span, and where a cycle of parents was cut' }),
    name: z.string(),
    kind: z.string(),
    otel_kind: z.string(),
    service: z.string().nullable(),
    scope: z.string().nullable().meta({ description: 'Name of the instrumentation scope, at most 1,000 characters' }),
    status: spanSchema.shape.status,
    start_ms: offset,
    end_ms: offset,
    duration_ms: z.number(),
    self_ms: z.number().meta({ description: 'Time in which no child span ran' }),
    left_pct: z.number().meta({ description: 'Start of the span, in percent of the duration of the trace' }),
    width_pct: z.number().meta({ description: 'Duration of the span, in percent of the duration of the trace' }),
    depth: count.meta({ description: 'Number of ancestors. It is 0 for a span without a parent in the trace' }),
    lane: count.meta({
      description: 'Number of the lane. It is greater than the lane of the parent. Spans of one lane do not overlap',
    }),
    order: count.meta({ description: 'Position of the span in depth-first order' }),
    child_count: count,
    is_root: z.boolean(),
    is_orphan: z.boolean().meta({ description: 'Whether the parent of the span has not arrived' }),
    on_critical_path: z.boolean(),
    critical_ms: z.number().meta({ description: 'Time that the span itself adds to the critical path' }),
    skew_ms: z.number().meta({ description: 'Milliseconds that were added to the times of the span' }),
    raw_start_unix_nano: z.string(),
    ttft_ms: spanSchema.shape.ttft_ms,
    model: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost,
    prompt_ref: spanSchema.shape.prompt_ref,
    events: z.array(
      z.object({
        name: z.string(),
        offset_ms: offset.nullable().meta({ description: 'Null when the event was sent without a time' }),
      }),
    ),
    warnings,
  })
  .meta({ id: 'TimelineSpan' });

const clockSkew = z.object({
  enabled: z.boolean(),
  max_ms: z.number().meta({ description: 'The largest correction that is applied, in milliseconds' }),
  adjusted_spans: count,
  by_host: z.array(
    z.object({
      host: z.string(),
      span_count: count,
      adjusted_spans: count,
      skew_ms: z.number().meta({ description: 'The largest correction of the spans of this host' }),
    }),
  ),
});

export const timelineSchema = z
  .object({
    trace_id: z.string(),
    project_id: z.string(),
    start_time: z.iso.datetime(),
    end_time: z.iso.datetime(),
    start_unix_nano: z.string().meta({ description: 'The time that all offsets are relative to' }),
    duration_ms: z.number(),
    root_duration_ms: z.number().meta({
      description:
        'Duration of the root span, of the longest one if there are several. Without a root span, of the longest orphan',
    }),
    complete: z.boolean().meta({ description: 'Whether a root span, a span without a parent, has arrived' }),
    span_count: count,
    returned: count,
    truncated: z
      .boolean()
      .meta({ description: 'Whether the trace has more spans than `limit`, or than the service reads of one trace' }),
    depth_max: count,
    lanes: count,
    max_concurrency: count.meta({
      description:
        'The largest number of spans that ran at the same time. A span counts only while none of its children runs',
    }),
    error_count: count,
    services: z.array(z.string()),
    totals: z.object({
      usage: usageSchema,
      cost,
      unpriced: count.meta({ description: 'Number of model calls and of spans with tokens whose cost is not known' }),
      unpriced_spans: count.meta({
        description: 'The same value as `unpriced`, under the name that other responses use',
      }),
    }),
    clock_skew: clockSkew,
    critical_path: z.object({
      duration_ms: z.number(),
      segments: z.array(z.object({ span_id: z.string(), start_ms: offset, end_ms: offset })),
    }),
    gaps: z.array(z.object({ start_ms: offset, end_ms: offset, type: z.enum(['dead', 'root-only']) })),
    warnings,
    spans: z.array(timelineSpan).meta({ description: 'All spans in depth-first order' }),
  })
  .meta({ id: 'Timeline' });

export type TimelineSpanWire = z.infer<typeof timelineSpan>;
export type TimelineWire = z.infer<typeof timelineSchema>;

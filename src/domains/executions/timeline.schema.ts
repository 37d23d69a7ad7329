import { z } from 'zod';
import { executionSchema, usageSchema } from './executions.schema.ts';
import { spanSchema } from './span.schema.ts';

const { cost } = executionSchema.shape;
const count = z.number().int();
const offset = z.number().meta({ description: "Milliseconds after the trace's start" });
const warnings = z.array(z.string());

const timelineSpan = z.object({
  span_id: z.string(),
  parent_span_id: z.string().nullable().meta({ description: 'Null for a root, and where a cycle of parents was cut' }),
  name: z.string(),
  kind: z.string(),
  otel_kind: z.string(),
  service: z.string().nullable(),
  scope: z.string().nullable(),
  status: spanSchema.shape.status,
  start_ms: offset,
  end_ms: offset,
  duration_ms: z.number(),
  self_ms: z.number().meta({ description: 'Time in which no child ran' }),
  left_pct: z.number().meta({ description: 'Percent of the trace' }),
  width_pct: z.number().meta({ description: 'Percent of the trace' }),
  depth: count.meta({ description: '0 for a span without a parent in the trace' }),
  lane: count.meta({ description: "Greater than its parent's; spans of one lane do not overlap" }),
  order: count.meta({ description: 'Position of the span, depth first' }),
  child_count: count,
  is_root: z.boolean(),
  is_orphan: z.boolean().meta({ description: 'Its parent has not arrived' }),
  on_critical_path: z.boolean(),
  critical_ms: z.number().meta({ description: 'Time of the critical path that is its own' }),
  skew_ms: z.number().meta({ description: 'What was added to its times' }),
  raw_start_unix_nano: z.string(),
  ttft_ms: spanSchema.shape.ttft_ms,
  model: z.string().nullable(),
  usage: usageSchema.nullable(),
  cost,
  prompt_ref: spanSchema.shape.prompt_ref,
  events: z.array(
    z.object({ name: z.string(), offset_ms: offset.nullable().meta({ description: 'Null when sent without a time' }) }),
  ),
  warnings,
});

const clockSkew = z.object({
  enabled: z.boolean(),
  max_ms: z.number().meta({ description: 'A correction over this is not applied' }),
  adjusted_spans: count,
  by_host: z.array(
    z.object({
      host: z.string(),
      span_count: count,
      adjusted_spans: count,
      skew_ms: z.number().meta({ description: 'The largest correction of its spans' }),
    }),
  ),
});

export const timelineSchema = z.object({
  trace_id: z.string(),
  project_id: z.string(),
  start_time: z.iso.datetime(),
  end_time: z.iso.datetime(),
  start_unix_nano: z.string().meta({ description: 'The zero of all offsets' }),
  duration_ms: z.number(),
  root_duration_ms: z
    .number()
    .meta({ description: 'Of the root, the longest of several; without one of the longest orphan' }),
  complete: z.boolean().meta({ description: 'Whether a span without a parent has arrived' }),
  span_count: count,
  returned: count,
  truncated: z
    .boolean()
    .meta({ description: 'Whether there are more spans than `limit`, or than are read of a trace' }),
  depth_max: count,
  lanes: count,
  max_concurrency: count.meta({
    description: 'Most open spans at one instant, of those none of whose children is open',
  }),
  error_count: count,
  services: z.array(z.string()),
  totals: z.object({
    usage: usageSchema,
    cost,
    unpriced: count.meta({ description: 'Spans with tokens, and model calls without, whose cost is not known' }),
    unpriced_spans: count.meta({ description: 'The same, by the name that it has elsewhere' }),
  }),
  clock_skew: clockSkew,
  critical_path: z.object({
    duration_ms: z.number(),
    segments: z.array(z.object({ span_id: z.string(), start_ms: offset, end_ms: offset })),
  }),
  gaps: z.array(z.object({ start_ms: offset, end_ms: offset, type: z.enum(['dead', 'root-only']) })),
  warnings,
  spans: z.array(timelineSpan).meta({ description: 'Depth first' }),
});

export type TimelineSpanWire = z.infer<typeof timelineSpan>;
export type TimelineWire = z.infer<typeof timelineSchema>;

import { z } from 'zod';
import { durationMs, endOfSpan, isoFromUnixNano } from '../../lib/time.ts';
import { type SpanPrompt, statedPromptId } from '../prompt-links/index.ts';
import type { SpanDetail } from '../spans/reads.ts';
import { evaluationSchema, evaluationsToWire } from './evaluation.schema.ts';
import { costToWire, spanStatus, usageSchema, usageToWire } from './executions.schema.ts';
import { logRecordSchema, type ShownPart, shownParts } from './read-logs.ts';
import { parseJsonText } from './span-parts.schema.ts';

const attributes = z.record(z.string(), z.unknown());
const types = z.record(z.string(), z.string());

export const spanSchema = z
  .object({
    span_id: z.string(),
    parent_span_id: z.string().nullable(),
    name: z.string(),
    span_name: z.string().meta({ description: 'The name as sent' }),
    kind: z.string(),
    otel_kind: z.string(),
    status: spanStatus,
    status_message: z.string().nullable(),
    error: z
      .object({ type: z.string().nullable(), message: z.string().nullable(), stack: z.string().nullable() })
      .nullable(),
    http_status_code: z.number().int().nullable(),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime(),
    start_unix_nano: z.string(),
    end_unix_nano: z.string(),
    duration_ms: z.number(),
    ttft_ms: z.number().nullable(),
    service: z.string().nullable(),
    environment: z.string().nullable(),
    release: z.string().nullable(),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    request_model: z.string().nullable(),
    params: z.unknown(),
    usage: usageSchema.nullable(),
    cost: z.string().nullable(),
    cost_source: z.enum(['reported', 'computed', 'none']),
    price_version: z.string().nullable(),
    session_id: z.string().nullable(),
    conversation_id: z.string().nullable(),
    user_id: z.string().nullable(),
    tags: z.array(z.string()),
    prompt_ref: z
      .object({
        id: z.string().nullable(),
        name: z.string().nullable(),
        version: z.number().int().nullable(),
        raw: z.string().nullable(),
        source: z.string().meta({ description: '`self`, `inherited` from an ancestor span, or `template_match`' }),
      })
      .meta({ id: 'PromptRef' })
      .nullable(),
    evaluations: z
      .array(evaluationSchema)
      .meta({ description: 'Evaluations that the span reports for itself, its trace or its session' }),
    input: z.unknown().optional(),
    output: z.unknown().optional(),
    attributes: attributes.optional(),
    attribute_types: types
      .optional()
      .meta({ description: 'The OTLP type of every attribute that is neither a string nor a boolean' }),
    events: z.array(attributes).optional(),
    links: z.array(attributes).optional(),
    resource: attributes.optional(),
    scope: attributes.optional(),
    trace_state: z.string().nullable(),
    flags: z.number().int(),
    dropped_attributes_count: z.number().int(),
    dropped_events_count: z.number().int(),
    dropped_links_count: z.number().int(),
    log_count: z
      .number()
      .int()
      .meta({ description: 'Log records of the span that are kept; `include=logs` shows them' }),
    dropped_log_records_count: z.number().int().meta({ description: 'Log records over the limits of a span' }),
    logs: z.array(logRecordSchema).optional(),
    warnings: z.array(z.string()),
    normalizer_version: z.number().int(),
    large_parts: z.array(z.object({ part: z.enum(shownParts), chars: z.number().int(), preview: z.string() })).meta({
      description:
        'Parts that are too long for this response: the length of their JSON text in UTF-16 units, and its first characters',
    }),
  })
  .meta({ id: 'Span' });

export type SpanWire = z.infer<typeof spanSchema>;

const otelKinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

/** Returns the name of an OTLP SpanKind. An unknown number is returned as text. */
export function otelKindName(number: number): string {
  return otelKinds[number] ?? String(number);
}

/**
 * Returns the API JSON of a span without its span parts. `prompt` is the span's own prompt or an
 * inherited one.
 */
export function spanHeadToWire(
  row: SpanDetail,
  prompt: SpanPrompt | null,
): Omit<SpanWire, ShownPart | 'attribute_types' | 'large_parts'> {
  const { startUnixNano, endUnixNano, usage } = row;
  return {
    span_id: row.spanId,
    parent_span_id: row.parentSpanId || null,
    name: row.name,
    span_name: row.spanName,
    kind: row.kind,
    otel_kind: otelKindName(row.otelKind),
    status: row.status,
    status_message: row.statusMessage || null,
    error: errorToWire(row),
    http_status_code: row.httpStatusCode || null,
    started_at: isoFromUnixNano(startUnixNano),
    ended_at: isoFromUnixNano(endUnixNano),
    start_unix_nano: startUnixNano.toString(),
    end_unix_nano: endUnixNano.toString(),
    duration_ms: durationMs(startUnixNano, endOfSpan(row)),
    ttft_ms: row.ttftMs,
    service: row.service || null,
    environment: row.environment || null,
    release: row.release || null,
    provider: row.provider || null,
    model: row.model || null,
    request_model: row.requestModel || null,
    params: parseJsonText(row.params),
    usage: usage && usageToWire(usage),
    cost: costToWire(row.costNanoUsd),
    cost_source: row.costSource,
    price_version: row.priceVersion || null,
    session_id: row.sessionId || null,
    conversation_id: row.conversationId || null,
    user_id: row.userId || null,
    tags: row.tags,
    prompt_ref: promptToWire(prompt),
    evaluations: evaluationsToWire(row.evaluations),
    trace_state: row.traceState || null,
    flags: row.flags,
    dropped_attributes_count: row.droppedAttributesCount,
    dropped_events_count: row.droppedEventsCount,
    dropped_links_count: row.droppedLinksCount,
    log_count: row.logCount,
    dropped_log_records_count: row.droppedLogRecords,
    warnings: row.warnings,
    normalizer_version: row.normalizerVersion,
  };
}

function errorToWire(row: SpanDetail): SpanWire['error'] {
  const { errorType: type, errorMessage: message, errorStack: stack } = row;
  if (row.status !== 'error' && type === '' && message === '') return null;
  return { type: type || null, message: message || null, stack: stack || null };
}

/** Converts the prompt of a span to its API JSON; '' and 0 become null. */
export function promptToWire(prompt: SpanPrompt | null): SpanWire['prompt_ref'] {
  if (prompt === null) return null;
  const { name, version, rawVersion, source } = prompt;
  const id = statedPromptId(prompt);
  return {
    id: id || null,
    name: name === id ? null : name || null,
    version: version || null,
    raw: rawVersion || null,
    source,
  };
}

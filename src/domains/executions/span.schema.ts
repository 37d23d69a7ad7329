import { z } from 'zod';
import { durationMs, endOfSpan, isoFromUnixNano } from '../../lib/time.ts';
import { type SpanPrompt, statedPromptId } from '../prompts/index.ts';
import { evaluationSchema, evaluationsToWire } from './evaluation.schema.ts';
import { costToWire, usageSchema, usageToWire } from './executions.schema.ts';
import type { LightSpan } from './light-span.ts';
import { ownerReader, partsToWire } from './span-parts.schema.ts';
import type { SpanDetail } from './span-queries.ts';

const attributes = z.record(z.string(), z.unknown());
const types = z.record(z.string(), z.string());

export const spanSchema = z.object({
  span_id: z.string(),
  parent_span_id: z.string().nullable(),
  name: z.string(),
  span_name: z.string().meta({ description: 'The name as sent' }),
  kind: z.string(),
  otel_kind: z.string(),
  status: z.enum(['ok', 'error', 'unset']),
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
      source: z.string().meta({ description: '`self`, `inherited` from a span above, or `template_match`' }),
    })
    .nullable(),
  evaluations: z
    .array(evaluationSchema)
    .meta({ description: 'What the span says was judged of it, of its trace or of its session' }),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  attributes: attributes.optional(),
  attribute_types: types
    .optional()
    .meta({ description: 'OTLP type of every attribute that is neither string nor bool' }),
  events: z.array(attributes).optional(),
  links: z.array(attributes).optional(),
  resource: attributes.optional(),
  scope: attributes.optional(),
  trace_state: z.string().nullable(),
  flags: z.number().int(),
  dropped_attributes_count: z.number().int(),
  dropped_events_count: z.number().int(),
  dropped_links_count: z.number().int(),
  warnings: z.array(z.string()),
  normaliser_version: z.number().int(),
});

export type SpanWire = z.infer<typeof spanSchema>;

const otelKinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

/** The word for a SpanKind of OTLP; a number that no specification knows stays a number. */
export function otelKindName(number: number): string {
  return otelKinds[number] ?? String(number);
}

export function spansToWire(
  spans: readonly { light: LightSpan; detail: SpanDetail; prompt: SpanPrompt | null }[],
): SpanWire[] {
  const ownerOf = ownerReader();
  return spans.map(({ light, detail, prompt }) => spanToWire(light, detail, prompt, ownerOf));
}

/** `prompt` is the span's own or inherited. */
function spanToWire(
  span: LightSpan,
  detail: SpanDetail,
  prompt: SpanPrompt | null,
  ownerOf: ReturnType<typeof ownerReader>,
): SpanWire {
  return {
    span_id: span.spanId,
    parent_span_id: span.parentSpanId || null,
    name: span.name,
    span_name: detail.span_name,
    kind: span.kind,
    otel_kind: otelKindName(detail.otel_kind),
    status: span.status,
    status_message: detail.status_message || null,
    error: errorToWire(span, detail),
    http_status_code: detail.http_status_code || null,
    started_at: isoFromUnixNano(span.startUnixNano),
    ended_at: isoFromUnixNano(span.endUnixNano),
    start_unix_nano: span.startUnixNano.toString(),
    end_unix_nano: span.endUnixNano.toString(),
    duration_ms: durationMs(span.startUnixNano, endOfSpan(span)),
    ttft_ms: detail.ttft_ms,
    service: span.service || null,
    environment: span.environment || null,
    release: detail.release || null,
    provider: span.provider || null,
    model: span.model || null,
    request_model: detail.request_model || null,
    params: parseJsonText(detail.params),
    usage: span.usage && usageToWire(span.usage),
    cost: costToWire(span.costNanoUsd),
    cost_source: detail.cost_source,
    price_version: detail.price_version || null,
    session_id: span.sessionId || null,
    conversation_id: detail.conversation_id || null,
    user_id: span.userId || null,
    tags: [...span.tags],
    prompt_ref: promptToWire(prompt),
    ...(detail.input === undefined ? {} : { input: parseJsonText(detail.input) }),
    ...(detail.output === undefined ? {} : { output: parseJsonText(detail.output) }),
    evaluations: evaluationsToWire(detail.evaluations),
    ...partsToWire(detail, ownerOf),
    trace_state: detail.trace_state || null,
    flags: detail.flags,
    dropped_attributes_count: detail.dropped_attributes_count,
    dropped_events_count: detail.dropped_events_count,
    dropped_links_count: detail.dropped_links_count,
    warnings: detail.warnings,
    normaliser_version: detail.normaliser_version,
  };
}

function errorToWire(span: LightSpan, detail: SpanDetail): SpanWire['error'] {
  const { error_type: type, error_message: message, error_stack: stack } = detail;
  if (span.status !== 'error' && type === '' && message === '') return null;
  return { type: type || null, message: message || null, stack: stack || null };
}

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

/** Input, output and parameters are JSON where they have structure, and text otherwise; '' is nothing. */
function parseJsonText(text: string): unknown {
  if (text === '') return null;
  if (text[0] !== '[' && text[0] !== '{') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

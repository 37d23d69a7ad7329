import type { RowBinaryWriter } from '../../stores/clickhouse/row-binary.ts';
import { NORMALISER_VERSION } from './conventions/normalise-span.ts';
import type { NormalisedSpan } from './conventions/normalised-span.ts';
import { anyValueToJson } from './otlp/any-value-json.ts';
import type { AnyValue, Span } from './otlp/span.ts';
import { eventsToJson, linksToJson, resourceToJson, scopeToJson } from './span-json.ts';

/** All that one row of `spans` is made of. */
export interface SpanRow {
  projectId: string;
  receivedAtMs: number;
  retentionDays: number;
  span: Span;
  normalised: NormalisedSpan;
}

type Column = readonly [name: string, write: (writer: RowBinaryWriter, row: SpanRow) => void];

const statusNumbers = { unset: 0, ok: 1, error: 2 } as const;
const costSourceNumbers = { none: 0, reported: 1 } as const;
const uint32Max = 0xffff_ffff;

/** The columns of `spans` in the order in which {@link writeSpanRow} writes them. One line per column, nothing else to keep in step. */
const columns: readonly Column[] = [
  ['project_id', (w, r) => w.string(r.projectId)],
  ['trace_id', (w, r) => w.fixedHex(r.span.traceId, 16)],
  ['span_id', (w, r) => w.fixedHex(r.span.spanId, 8)],
  ['received_at', (w, r) => w.dateTimeMs(r.receivedAtMs)],
  ['retention_days', (w, r) => w.uint16(r.retentionDays)],
  ['parent_span_id', (w, r) => w.fixedHex(r.span.parentSpanId, 8)],
  ['start_unix_nano', (w, r) => w.uint64(r.span.startUnixNano)],
  ['end_unix_nano', (w, r) => w.uint64(r.span.endUnixNano)],
  ['span_name', (w, r) => w.string(r.span.name)],
  ['otel_kind', (w, r) => w.int32(r.span.kind)],
  ['status_code', (w, r) => w.int32(r.span.statusCode)],
  ['status_message', (w, r) => w.string(r.span.statusMessage)],
  ['trace_state', (w, r) => w.string(r.span.traceState)],
  ['flags', (w, r) => w.uint32(r.span.flags >>> 0)],
  ['attributes_string', (w, r) => writeMap(w, r.span, isString, (value) => w.string(value))],
  ['attributes_int', (w, r) => writeMap(w, r.span, isInt, (value) => w.int64(value))],
  ['attributes_double', (w, r) => writeMap(w, r.span, isDouble, (value) => w.float64(value))],
  ['attributes_bool', (w, r) => writeMap(w, r.span, isBool, (value) => w.bool(value))],
  ['attributes_other', (w, r) => writeMap(w, r.span, isOther, (value) => w.string(anyValueToJson(value)))],
  ['resource', (w, r) => w.string(resourceToJson(r.span.resource))],
  ['scope', (w, r) => w.string(scopeToJson(r.span.scope))],
  ['events', (w, r) => w.string(eventsToJson(r.span.events))],
  ['links', (w, r) => w.string(linksToJson(r.span.links))],
  ['dropped_attributes_count', (w, r) => w.uint32(r.span.droppedAttributesCount)],
  ['dropped_events_count', (w, r) => w.uint32(r.span.droppedEventsCount)],
  ['dropped_links_count', (w, r) => w.uint32(r.span.droppedLinksCount)],
  ['normaliser_version', (w) => w.uint16(NORMALISER_VERSION)],
  ['kind', (w, r) => w.string(r.normalised.kind)],
  ['name', (w, r) => w.string(r.normalised.name)],
  ['status', (w, r) => w.uint8(statusNumbers[r.normalised.status])],
  ['error_type', (w, r) => w.string(r.normalised.errorType)],
  ['error_message', (w, r) => w.string(r.normalised.errorMessage)],
  ['error_stack', (w, r) => w.string(r.normalised.errorStack)],
  ['http_status_code', (w, r) => w.uint16(r.normalised.httpStatusCode)],
  ['service', (w, r) => w.string(r.normalised.service)],
  ['environment', (w, r) => w.string(r.normalised.environment)],
  ['release', (w, r) => w.string(r.normalised.release)],
  ['provider', (w, r) => w.string(r.normalised.provider)],
  ['model', (w, r) => w.string(r.normalised.model)],
  ['request_model', (w, r) => w.string(r.normalised.requestModel)],
  ['has_usage', (w, r) => w.bool(r.normalised.usage !== null)],
  ['input_tokens', (w, r) => w.uint32(r.normalised.usage?.inputTokens ?? 0)],
  ['output_tokens', (w, r) => w.uint32(r.normalised.usage?.outputTokens ?? 0)],
  ['cache_read_tokens', (w, r) => w.uint32(r.normalised.usage?.cacheReadTokens ?? 0)],
  ['cache_write_tokens', (w, r) => w.uint32(r.normalised.usage?.cacheWriteTokens ?? 0)],
  ['reasoning_tokens', (w, r) => w.uint32(r.normalised.usage?.reasoningTokens ?? 0)],
  ['total_tokens', (w, r) => w.uint32(Math.min(r.normalised.usage?.totalTokens ?? 0, uint32Max))],
  ['cost_nano_usd', (w, r) => w.int64(r.normalised.reportedCostNanoUsd ?? 0n)],
  [
    'cost_source',
    (w, r) => w.uint8(costSourceNumbers[r.normalised.reportedCostNanoUsd === null ? 'none' : 'reported']),
  ],
  ['ttft_ms', (w, r) => writeNullableFloat(w, r.normalised.ttftMs)],
  ['response_id', (w, r) => w.string(r.normalised.responseId)],
  ['session_id', (w, r) => w.string(r.normalised.sessionId)],
  ['conversation_id', (w, r) => w.string(r.normalised.conversationId)],
  ['user_id', (w, r) => w.string(r.normalised.userId)],
  ['tags', (w, r) => w.strings(r.normalised.tags)],
  ['prompt_id', (w, r) => w.string(r.normalised.promptRef?.id ?? '')],
  ['prompt_name', (w, r) => w.string(r.normalised.promptRef?.name ?? '')],
  ['prompt_version', (w, r) => w.uint32(r.normalised.promptRef?.version ?? 0)],
  ['prompt_raw_version', (w, r) => w.string(r.normalised.promptRef?.rawVersion ?? '')],
  ['prompt_source', (w, r) => w.string(r.normalised.promptRef?.source ?? '')],
  ['params', (w, r) => w.string(r.normalised.params)],
  ['input_preview', (w, r) => w.string(r.normalised.inputPreview)],
  ['output_preview', (w, r) => w.string(r.normalised.outputPreview)],
  ['input', (w, r) => w.string(r.normalised.input)],
  ['output', (w, r) => w.string(r.normalised.output)],
  ['warnings', (w, r) => w.strings([...r.span.warnings, ...r.normalised.warnings])],
];

export const spanColumns: readonly string[] = columns.map(([name]) => name);

export function writeSpanRow(writer: RowBinaryWriter, row: SpanRow): void {
  for (const [, write] of columns) write(writer, row);
}

const isString = (value: AnyValue): value is string => typeof value === 'string';
const isInt = (value: AnyValue): value is bigint => typeof value === 'bigint';
const isDouble = (value: AnyValue): value is number => typeof value === 'number';
const isBool = (value: AnyValue): value is boolean => typeof value === 'boolean';
const isOther = (value: AnyValue): value is Exclude<AnyValue, string | bigint | number | boolean> =>
  value === null || typeof value === 'object';

/** The attributes of one OTLP type as a Map: a count, then the pairs. */
function writeMap<T extends AnyValue>(
  writer: RowBinaryWriter,
  span: Span,
  is: (value: AnyValue) => value is T,
  writeValue: (value: T) => void,
): void {
  let count = 0;
  for (const value of span.attributes.values()) if (is(value)) count++;
  writer.count(count);
  if (count === 0) return;
  for (const [key, value] of span.attributes) {
    if (!is(value)) continue;
    writer.string(key);
    writeValue(value);
  }
}

/** Nullable: a byte that says null, then the value only when it is not. */
function writeNullableFloat(writer: RowBinaryWriter, value: number | null): void {
  writer.bool(value === null);
  if (value !== null) writer.float64(value);
}

import { resourceToJson, scopeToJson } from '../../otlp/origin-json.ts';
import type { Span } from '../../otlp/span.ts';
import {
  array,
  bool,
  column,
  dateTimeMs,
  float64,
  hex,
  int8,
  int32,
  int64,
  mapOf,
  nullable,
  text,
  texts,
  uint16,
  uint32,
  uint64,
} from '../../stores/clickhouse/native-columns.ts';
import { NativeTable } from '../../stores/clickhouse/native-table.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import { type CostSource, NORMALIZER_VERSION, type NormalizedSpan } from './normalized-span.ts';
import { eventsToJson, linksToJson } from './span-json.ts';
import type { TypedAttributes } from './typed-attributes.ts';

/**
 * The cost of a span in nano-USD and its source. `priceVersion` is '' unless the cost was computed.
 */
export interface SpanCost {
  nanoUsd: bigint | null;
  source: CostSource;
  priceVersion: string;
}

/** Everything that one row of `spans` contains. */
export interface SpanRow {
  projectId: string;
  receivedAtMs: number;
  retentionDays: number;
  span: Span;
  attributes: TypedAttributes;
  normalized: NormalizedSpan;
  /** The prompt that `normalized.promptRef` names, linked when the prompt is known. */
  prompt: SpanPrompt | null;
  cost: SpanCost;
  logs: SpanLogs;
}

/** The log records that a row was made with. */
export interface SpanLogs {
  /** Of rows with one time of receipt, the one with the larger version is newer. It grows with the known records. */
  version: number;
  count: number;
  /** Known records that are over the limits. */
  dropped: number;
  /** Records of the whole trace that this span shows. */
  ofTrace: number;
}

export const noLogs: SpanLogs = { version: 0, count: 0, dropped: 0, ofTrace: 0 };

/** Returns whether the texts of a span can represent its execution. */
export function canRepresent({ span, normalized }: Pick<SpanRow, 'span' | 'normalized'>): boolean {
  return span.parentSpanId === '' || normalized.kind === 'llm';
}

const statusNumbers = { unset: 0, ok: 1, error: 2 } as const;
const costSourceNumbers = { none: 0, reported: 1, computed: 2 } as const satisfies Record<CostSource, number>;
const uint32Max = 0xffff_ffff;

const truncated = ['logs_truncated'];
const noWarnings: readonly string[] = [];

function logWarnings({ dropped }: SpanLogs): readonly string[] {
  return dropped > 0 ? truncated : noWarnings;
}

/** The columns of `spans`, one line each. Only the migration must match them. */
export const spanTable = new NativeTable<SpanRow>({
  project_id: column(text, (r) => r.projectId),
  trace_id: column(hex(16), (r) => r.span.traceId),
  span_id: column(hex(8), (r) => r.span.spanId),
  received_at: column(dateTimeMs, (r) => r.receivedAtMs),
  retention_days: column(uint16, (r) => r.retentionDays),
  parent_span_id: column(hex(8), (r) => r.span.parentSpanId),
  start_unix_nano: column(uint64, (r) => r.span.startUnixNano),
  end_unix_nano: column(uint64, (r) => r.span.endUnixNano),
  span_name: column(text, (r) => r.span.name),
  otel_kind: column(int32, (r) => r.span.kind),
  status_code: column(int32, (r) => r.span.statusCode),
  status_message: column(text, (r) => r.span.statusMessage),
  trace_state: column(text, (r) => r.span.traceState),
  flags: column(uint32, (r) => r.span.flags >>> 0),
  input_attribute: column(text, (r) => r.attributes.inputKey),
  output_attribute: column(text, (r) => r.attributes.outputKey),
  attributes_string: mapOf(text, (r) => r.attributes.string),
  attributes_int: mapOf(int64, (r) => r.attributes.int),
  attributes_double: mapOf(float64, (r) => r.attributes.double),
  attributes_bool: mapOf(bool, (r) => r.attributes.bool),
  attributes_other: mapOf(text, (r) => r.attributes.other),
  resource: column(text, (r) => resourceToJson(r.span.resource)),
  scope: column(text, (r) => scopeToJson(r.span.scope)),
  events: column(text, (r) => eventsToJson(r.span.events)),
  links: column(text, (r) => linksToJson(r.span.links)),
  dropped_attributes_count: column(uint32, (r) => r.span.droppedAttributesCount),
  dropped_events_count: column(uint32, (r) => r.span.droppedEventsCount),
  dropped_links_count: column(uint32, (r) => r.span.droppedLinksCount),
  normalizer_version: column(uint16, () => NORMALIZER_VERSION),
  kind: column(text, (r) => r.normalized.kind),
  name: column(text, (r) => r.normalized.name),
  status: column(int8, (r) => statusNumbers[r.normalized.status]),
  error_type: column(text, (r) => r.normalized.errorType),
  error_message: column(text, (r) => r.normalized.errorMessage),
  error_stack: column(text, (r) => r.normalized.errorStack),
  http_status_code: column(uint16, (r) => r.normalized.httpStatusCode),
  service: column(text, (r) => r.normalized.service),
  environment: column(text, (r) => r.normalized.environment),
  release: column(text, (r) => r.normalized.release),
  provider: column(text, (r) => r.normalized.provider),
  model: column(text, (r) => r.normalized.model),
  request_model: column(text, (r) => r.normalized.requestModel),
  has_usage: column(bool, (r) => r.normalized.usage !== null),
  input_tokens: column(uint32, (r) => r.normalized.usage?.inputTokens ?? 0),
  output_tokens: column(uint32, (r) => r.normalized.usage?.outputTokens ?? 0),
  cache_read_tokens: column(uint32, (r) => r.normalized.usage?.cacheReadTokens ?? 0),
  cache_write_tokens: column(uint32, (r) => r.normalized.usage?.cacheWriteTokens ?? 0),
  reasoning_tokens: column(uint32, (r) => r.normalized.usage?.reasoningTokens ?? 0),
  total_tokens: column(uint32, (r) => Math.min(r.normalized.usage?.totalTokens ?? 0, uint32Max)),
  cost_nano_usd: column(int64, (r) => r.cost.nanoUsd ?? 0n),
  cost_source: column(int8, (r) => costSourceNumbers[r.cost.source]),
  price_version: column(text, (r) => r.cost.priceVersion),
  ttft_ms: nullable(float64, 0, (r) => r.normalized.ttftMs),
  response_id: column(text, (r) => r.normalized.responseId),
  session_id: column(text, (r) => r.normalized.sessionId),
  conversation_id: column(text, (r) => r.normalized.conversationId),
  user_id: column(text, (r) => r.normalized.userId),
  tags: array(texts, (r) => r.normalized.tags),
  prompt_id: column(text, (r) => r.prompt?.id ?? ''),
  prompt_name: column(text, (r) => r.prompt?.name ?? ''),
  prompt_version: column(uint32, (r) => r.prompt?.version ?? 0),
  prompt_raw_version: column(text, (r) => r.prompt?.rawVersion ?? ''),
  prompt_source: column(text, (r) => r.prompt?.source ?? ''),
  prompt_key: column(text, (r) => r.prompt?.key ?? ''),
  params: column(text, (r) => r.normalized.params),
  evaluations: column(text, (r) => r.normalized.evaluations),
  input_preview: column(text, (r) => (canRepresent(r) ? r.normalized.inputPreview : '')),
  output_preview: column(text, (r) => (canRepresent(r) ? r.normalized.outputPreview : '')),
  input: column(text, (r) => r.normalized.input),
  output: column(text, (r) => r.normalized.output),
  warnings: array(texts, (r) => [...r.span.warnings, ...r.normalized.warnings, ...logWarnings(r.logs)]),
  log_records: column(uint32, (r) => r.logs.version),
  log_count: column(uint32, (r) => r.logs.count),
  dropped_log_records: column(uint32, (r) => r.logs.dropped),
  trace_log_records: column(uint32, (r) => r.logs.ofTrace),
});

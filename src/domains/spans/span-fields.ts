import { field, plain } from '../../stores/clickhouse/row-reader.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import { blockColumn } from './newest-rows.ts';
import type { CostSource, SpanStatus } from './normalized-span.ts';
import type { TokenUsage } from './token-usage.ts';

const noParentHex = '0'.repeat(16);

/** SQL for the parent of a root. */
export const noParent = `unhex('${noParentHex}')`;
/** SQL for all attributes with a text. A row has a text once: an attribute that is the input or the output is named. */
export const stringAttributes = `mapConcat(attributes_string,
  mapFilter((key, text) -> key != '', map(input_attribute, input, output_attribute, output)))`;

const usageColumns =
  'has_usage, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens';
const promptColumns = 'prompt_id, prompt_name, prompt_version, prompt_raw_version, prompt_source, prompt_key';

type UsageJson = [boolean, number, number, number, number, number, number];
type PromptJson = [id: string, name: string, version: number, rawVersion: string, source: string, key: string];

/**
 * How every column of `spans` is read, except those of large parts (see `span-detail.ts`). What
 * writes them is `spanTable` in `span-row.ts`. Columns that belong together are one field. Columns
 * are selected as stored where possible: with expressions, ClickHouse takes half as long again for
 * a trace of 500 spans.
 */
export const spanFields = {
  projectId: plain<string>('project_id'),
  traceId: plain<string>('lower(hex(trace_id))'),
  spanId: plain<string>('lower(hex(span_id))'),
  /** '' for a root. */
  parentSpanId: field('lower(hex(parent_span_id))', (id: string) => (id === noParentHex ? '' : id)),
  receivedAtMs: field('toUnixTimestamp64Milli(received_at)', Number as (json: string) => number),
  block: field(blockColumn, Number as (json: string) => number),
  retentionDays: plain<number>('retention_days'),
  startUnixNano: field('start_unix_nano', BigInt as (json: string) => bigint),
  endUnixNano: field('end_unix_nano', BigInt as (json: string) => bigint),
  spanName: plain<string>('span_name'),
  otelKind: plain<number>('otel_kind'),
  statusCode: plain<number>('status_code'),
  statusMessage: plain<string>('status_message'),
  traceState: plain<string>('trace_state'),
  flags: plain<number>('flags'),
  droppedAttributesCount: plain<number>('dropped_attributes_count'),
  droppedEventsCount: plain<number>('dropped_events_count'),
  droppedLinksCount: plain<number>('dropped_links_count'),
  normalizerVersion: plain<number>('normalizer_version'),
  kind: plain<string>('kind'),
  name: plain<string>('name'),
  status: plain<SpanStatus>('status'),
  errorType: plain<string>('error_type'),
  errorMessage: plain<string>('error_message'),
  errorStack: plain<string>('error_stack'),
  httpStatusCode: plain<number>('http_status_code'),
  service: plain<string>('service'),
  environment: plain<string>('environment'),
  release: plain<string>('release'),
  provider: plain<string>('provider'),
  model: plain<string>('model'),
  requestModel: plain<string>('request_model'),
  usage: field(`tuple(${usageColumns})`, toUsage),
  /** In nano-USD; null when no cost is known. */
  costNanoUsd: field('tuple(cost_source, cost_nano_usd)', ([source, nanoUsd]: [CostSource, string]) =>
    source === 'none' ? null : BigInt(nanoUsd),
  ),
  costSource: plain<CostSource>('cost_source'),
  priceVersion: plain<string>('price_version'),
  ttftMs: plain<number | null>('ttft_ms'),
  responseId: plain<string>('response_id'),
  sessionId: plain<string>('session_id'),
  conversationId: plain<string>('conversation_id'),
  userId: plain<string>('user_id'),
  tags: plain<string[]>('tags'),
  /** What the span itself says about its prompt. */
  prompt: field(`tuple(${promptColumns})`, toPrompt),
  params: plain<string>('params'),
  evaluations: plain<string>('evaluations'),
  /** '' for a span that cannot represent its execution. So is the next. */
  inputPreview: plain<string>('input_preview'),
  outputPreview: plain<string>('output_preview'),
  warnings: plain<string[]>('warnings'),
  logRecords: plain<number>('log_records'),
  logCount: plain<number>('log_count'),
  droppedLogRecords: plain<number>('dropped_log_records'),
  traceLogRecords: plain<number>('trace_log_records'),
};

function toUsage([isKnown, input, output, cacheRead, cacheWrite, reasoning, total]: UsageJson): TokenUsage | null {
  if (!isKnown) return null;
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
    totalTokens: total,
  };
}

function toPrompt([id, name, version, rawVersion, source, key]: PromptJson): SpanPrompt | null {
  return source === '' ? null : { id, name, version, rawVersion, source, key };
}

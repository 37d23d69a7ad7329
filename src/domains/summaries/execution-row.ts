import { groupsOf, oneTurn, Pace } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { insertBlock } from '../../stores/clickhouse/insert-block.ts';
import {
  array,
  bool,
  column,
  dateTimeMs,
  field,
  float64,
  hex,
  int8,
  int64,
  nullable,
  text,
  texts,
  uint16,
  uint32,
  uint53,
  uint64,
} from '../../stores/clickhouse/native-columns.ts';
import { type EncodedRows, NativeTable } from '../../stores/clickhouse/native-table.ts';
import type { PromptUse } from '../prompt-links/index.ts';
import { usageParts } from '../spans/index.ts';
import type { SummarizedExecution } from './execution.ts';
import type { ExecutionCall, ExecutionErrors } from './execution-calls.ts';
import { writeSummary } from './execution-summary.ts';

const statusNumbers = { unset: 0, ok: 1, error: 2 } as const;

const promptFields = [
  field(text, (prompt: PromptUse) => prompt.id),
  field(text, (prompt: PromptUse) => prompt.name),
  field(uint32, (prompt: PromptUse) => prompt.version),
];

const callFields = [
  field(hex(8), (call: ExecutionCall) => call.spanId),
  field(uint32, (call: ExecutionCall) => call.calls),
  field(uint64, (call: ExecutionCall) => call.startUnixNano),
  field(float64, (call: ExecutionCall) => call.durationMs),
  field(float64, (call: ExecutionCall) => call.ttftMs ?? -1),
  field(int8, (call: ExecutionCall) => statusNumbers[call.status]),
  field(text, (call: ExecutionCall) => call.provider),
  field(text, (call: ExecutionCall) => call.model),
  field(bool, (call: ExecutionCall) => call.counted),
  field(bool, (call: ExecutionCall) => call.costNanoUsd !== null),
  ...usageParts.map((part) => field(uint53, (call: ExecutionCall) => call.usage[part])),
  field(int64, (call: ExecutionCall) => call.costNanoUsd ?? 0n),
  field(text, (call: ExecutionCall) => call.prompt.id),
  field(text, (call: ExecutionCall) => call.prompt.name),
  field(uint32, (call: ExecutionCall) => call.prompt.version),
  field(text, (call: ExecutionCall) => call.prompt.key),
];

const errorFields = [
  field(text, (errors: ExecutionErrors) => errors.type),
  field(uint32, (errors: ExecutionErrors) => errors.spans),
];

/** The columns of `summaries`, one line each. From there they come to `executions` and `execution_facts`. */
const executionTable = new NativeTable<SummarizedExecution>({
  project_id: column(text, (e) => e.projectId),
  trace_id: column(hex(16), (e) => e.traceId),
  version: column(uint64, (e) => e.version),
  received_at: column(dateTimeMs, (e) => e.receivedAtMs),
  normalizer_version: column(uint16, (e) => e.normalizerVersion),
  retention_days: column(uint16, (e) => e.retentionDays),
  start_unix_nano: column(uint64, (e) => e.startUnixNano),
  end_unix_nano: column(uint64, (e) => e.endUnixNano),
  name: column(text, (e) => e.name),
  status: column(int8, (e) => statusNumbers[e.status]),
  complete: column(bool, (e) => e.complete),
  span_count: column(uint32, (e) => e.spanCount),
  error_count: column(uint32, (e) => e.errorCount),
  models: array(texts, (e) => e.models),
  providers: array(texts, (e) => e.providers),
  prompts: array(promptFields, (e) => e.prompts),
  prompt_keys: array([field(text, (prompt: PromptUse) => prompt.key)], (e) => e.prompts),
  input_tokens: column(uint53, (e) => e.usage.inputTokens),
  output_tokens: column(uint53, (e) => e.usage.outputTokens),
  cache_read_tokens: column(uint53, (e) => e.usage.cacheReadTokens),
  cache_write_tokens: column(uint53, (e) => e.usage.cacheWriteTokens),
  reasoning_tokens: column(uint53, (e) => e.usage.reasoningTokens),
  total_tokens: column(uint53, (e) => e.usage.totalTokens),
  cost_nano_usd: nullable(int64, 0n, (e) => e.costNanoUsd),
  unpriced_spans: column(uint32, (e) => e.unpricedSpans),
  session_id: column(text, (e) => e.sessionId),
  user_id: column(text, (e) => e.userId),
  environment: column(text, (e) => e.environment),
  service: column(text, (e) => e.service),
  tags: array(texts, (e) => e.tags),
  summary: column(text, writeSummary),
  calls: array(callFields, (e) => e.calls),
  errors: array(errorFields, (e) => e.errors),
});

/** Executions, and bytes of them as {@link bytesOf} counts, that are encoded without a pause, in about 3 ms. */
const atOnce = { lengthMax: 64, bytesMax: 256 * 1024 };
/** An insert of more executions leaves the processor of ClickHouse to others. */
const fewExecutions = 250;
/** A call takes at least as long as this many characters: at most 256 calls are encoded without a pause. */
const bytesPerCall = 1024;

/** Encodes summaries as rows. Other work runs between chunks of rows. */
export async function encodeExecutions(
  executions: readonly SummarizedExecution[],
  pace = new Pace(oneTurn),
): Promise<EncodedRows[]> {
  const groups = groupsOf(
    executions.map((execution) => ({ execution, bytes: bytesOf(execution) })),
    atOnce,
  );
  const parts: EncodedRows[] = [];
  for (const group of groups) {
    await pace.rest();
    parts.push(executionTable.encode(group.map(({ execution }) => execution)));
  }
  return parts;
}

/**
 * Stores encoded summaries as one block. Resolves once ClickHouse has confirmed it.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function insertEncoded(clickhouse: ClickHouse, parts: readonly EncodedRows[]): Promise<void> {
  if (parts.length === 0) return;
  const isLarge = parts.reduce((sum, { rowCount }) => sum + rowCount, 0) > fewExecutions;
  const block = executionTable.block(parts);
  await insertBlock(clickhouse, { table: 'summaries', columns: executionTable.names, block, isLarge });
}

/**
 * Stores summaries as one block, as {@link insertEncoded} does.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function insertExecutions(
  clickhouse: ClickHouse,
  executions: readonly SummarizedExecution[],
): Promise<void> {
  await insertEncoded(clickhouse, await encodeExecutions(executions));
}

/** Returns about how much there is to encode: the calls, and the characters of texts that can be long. */
function bytesOf({ calls, tags, name, inputPreview, outputPreview }: SummarizedExecution): number {
  let bytes = name.length + inputPreview.length + outputPreview.length;
  for (const tag of tags) bytes += tag.length;
  for (const { provider, model, prompt } of calls)
    bytes += bytesPerCall + provider.length + model.length + prompt.id.length + prompt.name.length + prompt.key.length;
  return bytes;
}

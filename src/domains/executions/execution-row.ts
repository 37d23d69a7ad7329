import { Readable } from 'node:stream';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { RowBinaryWriter } from '../../stores/clickhouse/row-binary.ts';
import type { Execution } from './execution.ts';

type Column = readonly [name: string, write: (writer: RowBinaryWriter, execution: Execution) => void];

const statusNumbers = { unset: 0, ok: 1, error: 2 } as const;

/** The columns of `executions` in the order in which they are written. */
const columns: readonly Column[] = [
  ['project_id', (w, e) => w.string(e.projectId)],
  ['trace_id', (w, e) => w.fixedHex(e.traceId, 16)],
  ['version', (w, e) => w.uint64(e.version)],
  ['received_at', (w, e) => w.dateTimeMs(e.receivedAtMs)],
  ['retention_days', (w, e) => w.uint16(e.retentionDays)],
  ['start_unix_nano', (w, e) => w.uint64(e.startUnixNano)],
  ['end_unix_nano', (w, e) => w.uint64(e.endUnixNano)],
  ['name', (w, e) => w.string(e.name)],
  ['status', (w, e) => w.uint8(statusNumbers[e.status])],
  ['complete', (w, e) => w.bool(e.complete)],
  ['span_count', (w, e) => w.uint32(e.spanCount)],
  ['error_count', (w, e) => w.uint32(e.errorCount)],
  ['models', (w, e) => w.strings(e.models)],
  ['providers', (w, e) => w.strings(e.providers)],
  ['prompts', (w, e) => writePrompts(w, e.prompts)],
  ['input_tokens', (w, e) => w.uint64(BigInt(e.usage.inputTokens))],
  ['output_tokens', (w, e) => w.uint64(BigInt(e.usage.outputTokens))],
  ['cache_read_tokens', (w, e) => w.uint64(BigInt(e.usage.cacheReadTokens))],
  ['cache_write_tokens', (w, e) => w.uint64(BigInt(e.usage.cacheWriteTokens))],
  ['reasoning_tokens', (w, e) => w.uint64(BigInt(e.usage.reasoningTokens))],
  ['total_tokens', (w, e) => w.uint64(BigInt(e.usage.totalTokens))],
  ['cost_nano_usd', (w, e) => writeNullableInt(w, e.costNanoUsd)],
  ['unpriced_spans', (w, e) => w.uint32(e.unpricedSpans)],
  ['session_id', (w, e) => w.string(e.sessionId)],
  ['user_id', (w, e) => w.string(e.userId)],
  ['environment', (w, e) => w.string(e.environment)],
  ['service', (w, e) => w.string(e.service)],
  ['tags', (w, e) => w.strings(e.tags)],
  ['input_preview', (w, e) => w.string(e.inputPreview)],
  ['output_preview', (w, e) => w.string(e.outputPreview)],
];

const statement = `INSERT INTO executions (${columns.map(([name]) => name).join(', ')}) FORMAT RowBinary`;

/** Stores the summaries as one block; resolves once the engine has confirmed it. */
export async function insertExecutions(clickhouse: ClickHouse, executions: readonly Execution[]): Promise<void> {
  const writer = new RowBinaryWriter();
  for (const execution of executions) for (const [, write] of columns) write(writer, execution);
  const { stream } = await clickhouse.exec({
    query: statement,
    values: Readable.from([writer.bytes()], { objectMode: false }),
    clickhouse_settings: { async_insert: 0, wait_end_of_query: 1 },
  });
  for await (const _ of stream); // The insert is confirmed when its empty answer ends.
}

function writePrompts(writer: RowBinaryWriter, prompts: Execution['prompts']): void {
  writer.count(prompts.length);
  for (const prompt of prompts) {
    writer.string(prompt.id);
    writer.string(prompt.name);
    writer.uint32(prompt.version);
  }
}

function writeNullableInt(writer: RowBinaryWriter, value: bigint | null): void {
  writer.bool(value === null);
  if (value !== null) writer.int64(value);
}

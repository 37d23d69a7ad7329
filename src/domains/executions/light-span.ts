import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { SpanPrompt } from '../prompts/index.ts';
import type { TokenUsage } from './count-usage.ts';
import { blockColumn, newestRows, type RowAge, rowsFor } from './newest-rows.ts';
import { ofTraces } from './trace-sql.ts';

export type SpanStatus = 'unset' | 'ok' | 'error';

/** Who says what a span cost: nobody, its client, or our price table. */
export type CostSource = 'none' | 'reported' | 'computed';

/** A span without its heavy parts: what trees, totals and summaries are made of. `parentSpanId` is '' for a root. */
export interface LightSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  receivedAtMs: number;
  /** Whether it has been received once, as far as was seen. */
  sentOnce: boolean;
  retentionDays: number;
  startUnixNano: bigint;
  endUnixNano: bigint;
  kind: string;
  name: string;
  status: SpanStatus;
  service: string;
  environment: string;
  provider: string;
  model: string;
  usage: TokenUsage | null;
  /** Nano-USD; null when no cost is known. */
  costNanoUsd: bigint | null;
  costSource: CostSource;
  responseId: string;
  sessionId: string;
  userId: string;
  tags: readonly string[];
  /** What the span itself says of its prompt. */
  prompt: SpanPrompt | null;
  inputPreview: string;
  outputPreview: string;
}

/** Parameters travel in the URL, of which a server takes 1 MiB; a query costs about 10 ms whatever it asks. */
const tracesPerQuery = 1_000;
/** Whole traces are larger: this many, and no more of one trace than the service shows of it, bound an answer. */
const wholeTracesPerQuery = 100;
export const spansPerTraceMax = 20_000;

const noParent = "unhex('0000000000000000')";

/** Selected in this order; {@link toLightSpan} reads by it. Previews only of spans that can represent their execution. */
const columns = [
  'lower(hex(trace_id))',
  'lower(hex(span_id))',
  `if(parent_span_id = ${noParent}, '', lower(hex(parent_span_id)))`,
  'toUnixTimestamp64Milli(received_at)',
  'retention_days',
  'start_unix_nano',
  'end_unix_nano',
  'kind',
  'name',
  'status',
  'service',
  'environment',
  'provider',
  'model',
  'if(has_usage, [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens], [])',
  "if(cost_source = 'none', NULL, cost_nano_usd)",
  'response_id',
  'session_id',
  'user_id',
  'tags',
  'prompt_id',
  'prompt_name',
  'prompt_version',
  'prompt_raw_version',
  'prompt_source',
  'prompt_key',
  `if(parent_span_id = ${noParent} OR kind = 'llm', input_preview, '')`,
  `if(parent_span_id = ${noParent} OR kind = 'llm', output_preview, '')`,
  'cost_source',
  blockColumn,
] as const;

type Row = [
  string,
  string,
  string,
  string,
  number,
  string,
  string,
  string,
  string,
  SpanStatus,
  string,
  string,
  string,
  string,
  number[],
  string | null,
  string,
  string,
  string,
  string[],
  string,
  string,
  number,
  string,
  string,
  string,
  string,
  string,
  CostSource,
  string,
];

const ofProjectAndTraces = `project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}`;

/**
 * Every span of the traces, each once as last received, in no particular order; of a trace with more than `spansPerTraceMax` the
 * earliest. `traceIds` are 32 hex digits each.
 */
export async function findLightSpans(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
): Promise<LightSpan[]> {
  const spans: LightSpan[] = [];
  for (let start = 0; start < traceIds.length; start += wholeTracesPerQuery) {
    const result = await clickhouse.query({
      query: `SELECT ${columns.join(', ')} FROM spans PREWHERE ${ofProjectAndTraces}
              ORDER BY start_unix_nano, span_id LIMIT ${rowsFor(spansPerTraceMax)} BY trace_id`,
      query_params: { projectId, traceIds: traceIds.slice(start, start + wholeTracesPerQuery).join('') },
      clickhouse_settings: { max_result_rows: '0' },
      format: 'JSONCompactEachRow',
    });
    const taken = new Map<string, number>();
    for (const { row, alone } of newestRows(await result.json<Row>(), ageOf)) {
      const ofTrace = (taken.get(row[0]) ?? 0) + 1;
      taken.set(row[0], ofTrace);
      if (ofTrace <= spansPerTraceMax) spans.push(toLightSpan(row, alone));
    }
  }
  return spans;
}

/** Which of the traces have an execution already. */
export async function findKnownTraces(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
): Promise<Set<string>> {
  const known = new Set<string>();
  for (let start = 0; start < traceIds.length; start += tracesPerQuery) {
    const result = await clickhouse.query({
      query: `SELECT DISTINCT lower(hex(trace_id)) FROM executions WHERE ${ofProjectAndTraces}`,
      query_params: { projectId, traceIds: traceIds.slice(start, start + tracesPerQuery).join('') },
      format: 'JSONCompactEachRow',
    });
    for (const [traceId] of await result.json<[string]>()) known.add(traceId);
  }
  return known;
}

function ageOf(row: Row): RowAge {
  return { traceId: row[0], spanId: row[1], receivedAtMs: Number(row[3]), block: Number(row[29]) };
}

function toLightSpan(row: Row, sentOnce: boolean): LightSpan {
  return {
    traceId: row[0],
    spanId: row[1],
    parentSpanId: row[2],
    receivedAtMs: Number(row[3]),
    sentOnce,
    retentionDays: row[4],
    startUnixNano: BigInt(row[5]),
    endUnixNano: BigInt(row[6]),
    kind: row[7],
    name: row[8],
    status: row[9],
    service: row[10],
    environment: row[11],
    provider: row[12],
    model: row[13],
    usage: toUsage(row[14]),
    costNanoUsd: row[15] === null ? null : BigInt(row[15]),
    costSource: row[28],
    responseId: row[16],
    sessionId: row[17],
    userId: row[18],
    tags: row[19],
    prompt:
      row[24] === ''
        ? null
        : { id: row[20], name: row[21], version: row[22], rawVersion: row[23], source: row[24], key: row[25] },
    inputPreview: row[26],
    outputPreview: row[27],
  };
}

/** Counts in the order of the columns; none for a span without usage. */
export function toUsage(counts: readonly number[]): TokenUsage | null {
  const [input, output = 0, cacheRead = 0, cacheWrite = 0, reasoning = 0, total = 0] = counts;
  if (input === undefined) return null;
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
    totalTokens: total,
  };
}

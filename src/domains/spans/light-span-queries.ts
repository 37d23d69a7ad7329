import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import type { LightSpan } from './light-span.ts';
import { blockColumn, newestRows, type RowAge } from './newest-rows.ts';
import type { CostSource, SpanStatus } from './normalized-span.ts';
import { toUsage } from './token-usage.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace, ofTraces } from './trace-sql.ts';

/** Traces per query. Whole traces are large, so this bounds one answer. */
const wholeTracesPerQuery = 100;
/** The service shows no more spans of one trace than this. */
export const spansPerTraceMax = 20_000;

export const noParent = "unhex('0000000000000000')";

/**
 * Columns of the newest row of a span. {@link toLightSpan} reads by this order. Previews are read
 * only for spans that can represent their execution.
 */
const columns = [
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
] as const;

type Fields = [
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
];

type Row = [traceId: string, spanId: string, block: string, ...Fields];
type CollapsedRow = [traceId: string, spanId: string, copies: number, newest: Fields];

/**
 * Returns every span of the traces, each once as last received, in no particular order. It reads
 * all rows, so each trace should have few: for those it takes half the time that ClickHouse needs
 * to find the newest rows. Each of `traceIds` has 32 hex digits.
 * @throws the error of ClickHouse
 */
export async function findLightSpans(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  settings: ClickHouseSettings = {},
): Promise<LightSpan[]> {
  const spans: LightSpan[] = [];
  for (let start = 0; start < traceIds.length; start += wholeTracesPerQuery) {
    const someIds = traceIds.slice(start, start + wholeTracesPerQuery);
    const rows = await plainRows(clickhouse, { projectId, traceIds: someIds, settings, rowsMax: undefined });
    spans.push(...newestLightSpans(rows));
  }
  return spans;
}

/**
 * Returns every span of a trace with at most `rowsHereMax` rows, as {@link findLightSpans} does.
 * @throws LargeTraceError when the trace has more rows
 * @throws the error of ClickHouse
 */
export async function findFewLightSpans(
  clickhouse: ClickHouse,
  { projectId, traceId }: TraceKey,
): Promise<LightSpan[]> {
  const rowsMax = rowsHereMax + 1;
  return newestLightSpans(assertSmall(await plainRows(clickhouse, { projectId, traceIds: [traceId], rowsMax })));
}

/**
 * Returns the earliest `spansPerTraceMax` spans of a trace of any size, each once as last received.
 * FINAL would give the same, but takes two to five times as long: it reads every wanted column of
 * all neighboring rows in each data part.
 * @throws the error of ClickHouse
 */
export async function findEarliestLightSpans(clickhouse: ClickHouse, trace: TraceKey): Promise<LightSpan[]> {
  const result = await clickhouse.query({
    query: `SELECT lower(hex(trace_id)), lower(hex(span_id)), copies::Float64, newest
            FROM (SELECT trace_id, span_id, count() AS copies,
                         argMax(tuple(${columns.join(', ')}), (received_at, ${blockColumn})) AS newest
                  FROM spans PREWHERE ${ofTrace} GROUP BY trace_id, span_id)
            ORDER BY newest.4, span_id LIMIT ${spansPerTraceMax}`,
    query_params: { ...trace },
    clickhouse_settings: { output_format_json_named_tuples_as_objects: 0 },
    format: 'JSONCompactEachRow',
  });
  const rows = await result.json<CollapsedRow>();
  return rows.map(([traceId, spanId, copies, fields]) =>
    toLightSpan({ traceId, spanId, sentOnce: copies === 1, fields }),
  );
}

async function plainRows(
  clickhouse: ClickHouse,
  {
    projectId,
    traceIds,
    rowsMax,
    settings,
  }: { projectId: string; traceIds: readonly string[]; rowsMax: number | undefined; settings?: ClickHouseSettings },
): Promise<Row[]> {
  const result = await clickhouse.query({
    query: `SELECT lower(hex(trace_id)), lower(hex(span_id)), ${blockColumn}, ${columns.join(', ')}
            FROM spans PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}
            ${rowsMax === undefined ? '' : `LIMIT ${rowsMax}`}`,
    query_params: { projectId, traceIds: traceIds.join('') },
    clickhouse_settings: { max_result_rows: '0', ...settings },
    format: 'JSONCompactEachRow',
  });
  return result.json<Row>();
}

function newestLightSpans(rows: readonly Row[]): LightSpan[] {
  return newestRows(rows, ageOf).map(({ row: [traceId, spanId, , ...fields], alone }) =>
    toLightSpan({ traceId, spanId, sentOnce: alone, fields }),
  );
}

function ageOf([traceId, spanId, block, , receivedAtMs]: Row): RowAge {
  return { traceId, spanId, receivedAtMs: Number(receivedAtMs), block: Number(block) };
}

function toLightSpan({
  traceId,
  spanId,
  sentOnce,
  fields: row,
}: Pick<LightSpan, 'traceId' | 'spanId' | 'sentOnce'> & { fields: Fields }): LightSpan {
  return {
    traceId,
    spanId,
    parentSpanId: row[0],
    receivedAtMs: Number(row[1]),
    sentOnce,
    retentionDays: row[2],
    startUnixNano: BigInt(row[3]),
    endUnixNano: BigInt(row[4]),
    kind: row[5],
    name: row[6],
    status: row[7],
    service: row[8],
    environment: row[9],
    provider: row[10],
    model: row[11],
    usage: toUsage(row[12]),
    costNanoUsd: row[13] === null ? null : BigInt(row[13]),
    costSource: row[26],
    responseId: row[14],
    sessionId: row[15],
    userId: row[16],
    tags: row[17],
    prompt:
      row[22] === ''
        ? null
        : { id: row[18], name: row[19], version: row[20], rawVersion: row[21], source: row[22], key: row[23] },
    inputPreview: row[24],
    outputPreview: row[25],
  };
}

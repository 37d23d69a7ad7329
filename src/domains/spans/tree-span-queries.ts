import { endOfSpan } from '../../lib/time.ts';
import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import { noParent, spansPerTraceMax } from './light-span-queries.ts';
import { blockColumn, newestRows, type RowAge } from './newest-rows.ts';
import type { CostSource, SpanStatus } from './normalized-span.ts';
import { findOrigins, type Origin, originColumn, unknownOrigin } from './span-origins.ts';
import { toUsage } from './token-usage.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';
import type { TreeSpan } from './tree-span.ts';

/** The spans of a trace that were read: at most the earliest {@link spansPerTraceMax}. */
export interface TreeSpans {
  spans: TreeSpan[];
  /** Whether the trace has more. */
  truncated: boolean;
}

/** Code points that a tree shows of a long name. The next two bound the events of one span. */
const textCharsMax = 1_000;
const eventsMax = 64;
const eventNameCharsMax = 200;
/**
 * The earliest spans are read up to this many bytes, as ClickHouse counts them. ClickHouse stops
 * after a whole block, so the answer may be slightly larger.
 */
const largeSettings = {
  max_result_bytes: `${24 * 1024 * 1024}`,
  result_overflow_mode: 'break',
  max_block_size: '4096',
} as const;

/**
 * The selected columns. {@link toTreeSpan} reads by this order. Columns are selected as stored
 * where possible: a trace of 500 spans then takes ClickHouse a third less time than with
 * expressions.
 */
const columns = [
  'lower(hex(span_id))',
  `if(parent_span_id = ${noParent}, '', lower(hex(parent_span_id)))`,
  'start_unix_nano',
  'end_unix_nano',
  'kind',
  `substringUTF8(name, 1, ${textCharsMax})`,
  'status',
  `substringUTF8(service, 1, ${textCharsMax})`,
  `substringUTF8(model, 1, ${textCharsMax})`,
  'has_usage',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'total_tokens',
  'cost_source',
  'cost_nano_usd',
  'response_id',
  'prompt_id',
  'prompt_name',
  'prompt_version',
  'prompt_raw_version',
  'prompt_source',
  'prompt_key',
  'otel_kind',
  'flags',
  'ttft_ms',
  'warnings',
  originColumn,
  `arrayMap(e -> [substringUTF8(e.1, 1, ${eventNameCharsMax}), e.2],
    arraySlice(JSONExtract(events, 'Array(Tuple(name String, timeUnixNano String))'), 1, ${eventsMax}))`,
  'toUnixTimestamp64Milli(received_at)',
  blockColumn,
] as const;

type Row = [
  spanId: string,
  parentSpanId: string,
  startUnixNano: string,
  endUnixNano: string,
  kind: string,
  name: string,
  status: SpanStatus,
  service: string,
  model: string,
  hasUsage: boolean,
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  reasoningTokens: number,
  totalTokens: number,
  costSource: CostSource,
  costNanoUsd: string,
  responseId: string,
  promptId: string,
  promptName: string,
  promptVersion: number,
  promptRawVersion: string,
  promptSource: string,
  promptKey: string,
  otelKind: number,
  flags: number,
  ttftMs: number | null,
  warnings: string[],
  origin: string,
  events: [name: string, timeUnixNano: string][],
  receivedAtMs: string,
  block: string,
];

/**
 * Returns the spans of one trace with the fields of its tree and timeline, each once as last
 * received. A `large` trace is read up to a bound in bytes, any other completely.
 * @throws LargeTraceError when the trace must be read as `large`
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findTreeSpans(clickhouse: ClickHouse, trace: TraceKey, large: boolean): Promise<TreeSpans> {
  const [rows, count] = await (large
    ? Promise.all([findRows(clickhouse, trace, earliestOfNewest, largeSettings), countSpans(clickhouse, trace)])
    : findFewRows(clickhouse, trace));
  const origins = await findOrigins(clickhouse, trace, new Set(rows.map((row) => row[29])));
  const spans = rows.map((row) => toTreeSpan(row, origins.get(row[29]) ?? unknownOrigin));
  return { spans, truncated: rows.length < count };
}

const earliestOfNewest = `AND (span_id, received_at) IN (SELECT span_id, max(received_at) FROM spans PREWHERE ${ofTrace} GROUP BY span_id)
  ORDER BY start_unix_nano, span_id, ${blockColumn} DESC LIMIT 1 BY span_id LIMIT ${spansPerTraceMax}`;

/**
 * Reads all rows of the trace and picks the newest here: ClickHouse would take half as long again
 * to do it.
 */
async function findFewRows(clickhouse: ClickHouse, trace: TraceKey): Promise<[Row[], number]> {
  const all = assertSmall(await findRows(clickhouse, trace, `LIMIT ${rowsHereMax + 1}`));
  const rows = newestRows(all, ageOf).map(({ row }) => row);
  return [rows, rows.length];
}

function findRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  which: string,
  settings: ClickHouseSettings = {},
): Promise<Row[]> {
  return runClickHouse(async () => {
    const result = await clickhouse.query({
      query: `SELECT ${columns.join(', ')} FROM spans PREWHERE ${ofTrace} ${which}`,
      query_params: { ...trace },
      clickhouse_settings: settings,
      format: 'JSONCompactEachRow',
    });
    return result.json<Row>();
  });
}

function ageOf(row: Row): RowAge {
  return { spanId: row[0], receivedAtMs: Number(row[31]), block: Number(row[32]) };
}

async function countSpans(clickhouse: ClickHouse, trace: TraceKey): Promise<number> {
  const [row] = await runClickHouse(async () => {
    const query = `SELECT uniqExact(span_id)::Float64 FROM spans WHERE ${ofTrace}`;
    const result = await clickhouse.query({ query, query_params: { ...trace }, format: 'JSONCompactEachRow' });
    return result.json<[number]>();
  });
  return row?.[0] ?? 0;
}

function toTreeSpan(row: Row, { scope, hostKey }: Origin): TreeSpan {
  const startUnixNano = BigInt(row[2]);
  return {
    spanId: row[0],
    parentSpanId: row[1],
    startUnixNano,
    endUnixNano: endOfSpan({ startUnixNano, endUnixNano: BigInt(row[3]) }),
    kind: row[4],
    name: row[5],
    status: row[6],
    service: row[7],
    model: row[8],
    usage: row[9] ? toUsage([row[10], row[11], row[12], row[13], row[14], row[15]]) : null,
    costNanoUsd: row[16] === 'none' ? null : BigInt(row[17]),
    responseId: row[18],
    prompt:
      row[23] === ''
        ? null
        : { id: row[19], name: row[20], version: row[21], rawVersion: row[22], source: row[23], key: row[24] },
    otelKind: row[25],
    flags: row[26],
    ttftMs: row[27],
    warnings: row[28],
    scope,
    hostKey,
    skewNano: 0n,
    skewRefused: false,
    events: row[30].map(([name, time]) => ({ name, timeUnixNano: BigInt(time) })),
  };
}

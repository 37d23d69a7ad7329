import { endOfSpan } from '../../lib/time.ts';
import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { type Decoded, field, pick, plain, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields, readRows } from '../../stores/clickhouse/statements.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import { spansPerTraceMax } from './light-span-queries.ts';
import { newestRows, rowAge } from './newest-rows.ts';
import { spanFields } from './span-fields.ts';
import { beginningOf, findOrigins, type Origin, originColumn, unknownOrigin } from './span-origins.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';
import type { TreeSpan } from './tree-span.ts';

/** The spans of a trace that were read: at most the earliest {@link spansPerTraceMax}. */
export interface TreeSpans {
  spans: TreeSpan[];
  /** Whether the trace has more spans. */
  truncated: boolean;
}

/** Events that a tree shows of one span, and code points of the name of each. */
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

const eventsSql = `arrayMap(e -> [substringUTF8(e.1, 1, ${eventNameCharsMax}), e.2],
  arraySlice(JSONExtract(events, 'Array(Tuple(name String, timeUnixNano String))'), 1, ${eventsMax}))`;

const fields = {
  ...pick(spanFields, [
    ...(['spanId', 'parentSpanId', 'receivedAtMs', 'block', 'logRecords', 'startUnixNano', 'endUnixNano'] as const),
    ...(['kind', 'status'] as const),
    ...(['usage', 'costNanoUsd', 'responseId', 'prompt', 'otelKind', 'flags', 'ttftMs', 'warnings'] as const),
  ]),
  name: plain<string>(beginningOf('name')),
  service: plain<string>(beginningOf('service')),
  model: plain<string>(beginningOf('model')),
  origin: plain<string>(originColumn),
  events: field(eventsSql, (events: [name: string, timeUnixNano: string][]) =>
    events.map(([name, timeUnixNano]) => ({ name, timeUnixNano: BigInt(timeUnixNano) })),
  ),
};
const reader = rowReader(fields);

type Row = Decoded<typeof fields>;

/**
 * Returns the spans of one trace with the fields of its tree and timeline, each once as last
 * received. A `large` trace is read up to a bound in bytes, any other completely.
 * @throws LargeTraceError when the trace must be read as `large`
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findTreeSpans(clickhouse: ClickHouse, trace: TraceKey, large: boolean): Promise<TreeSpans> {
  const [rows, count] = await (large
    ? Promise.all([findRows(clickhouse, trace, earliest, largeSettings), countSpans(clickhouse, trace)])
    : findFewRows(clickhouse, trace));
  const origins = await findOrigins(clickhouse, trace, new Set(rows.map(({ origin }) => origin)));
  const spans = rows.map((row) => toTreeSpan(row, origins.get(row.origin) ?? unknownOrigin));
  return { spans, truncated: rows.length < count };
}

const newest = `SELECT *, ${originColumn}, _part FROM spans
  PREWHERE ${ofTrace} AND (span_id, received_at) IN (SELECT span_id, max(received_at) FROM spans PREWHERE ${ofTrace} GROUP BY span_id)
  ORDER BY ${rowAge} DESC LIMIT 1 BY span_id`;
const earliest = `SELECT ${reader.columns} FROM (${newest}) ORDER BY start_unix_nano, span_id LIMIT ${spansPerTraceMax}`;
const few = `SELECT ${reader.columns} FROM spans PREWHERE ${ofTrace} LIMIT ${rowsHereMax + 1}`;

/**
 * Reads all rows of the trace and picks the newest here: ClickHouse would take half as long again
 * to do it.
 */
async function findFewRows(clickhouse: ClickHouse, trace: TraceKey): Promise<[Row[], number]> {
  const all = assertSmall(await findRows(clickhouse, trace, few));
  const rows = newestRows(all).map(({ row }) => row);
  return [rows, rows.length];
}

function findRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  query: string,
  settings: ClickHouseSettings = {},
): Promise<Row[]> {
  return readFields(clickhouse, reader, {
    query,
    query_params: { ...trace },
    clickhouse_settings: settings,
  });
}

async function countSpans(clickhouse: ClickHouse, trace: TraceKey): Promise<number> {
  const query = `SELECT uniqExact(span_id)::Float64 AS spans FROM spans WHERE ${ofTrace}`;
  const [row] = await readRows<{ spans: number }>(clickhouse, {
    query,
    query_params: { ...trace },
    format: 'JSONEachRow',
  });
  return row?.spans ?? 0;
}

function toTreeSpan(row: Row, { scope, hostKey }: Origin): TreeSpan {
  return { ...row, endUnixNano: endOfSpan(row), scope, hostKey, skewNano: 0n, skewRefused: false };
}

import { endOfSpan } from '../../lib/time.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { field, pick, plain, type RowOf, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields, readRows } from '../../stores/clickhouse/statements.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import { spansPerTraceMax } from './light-span-queries.ts';
import { newestRows, rowAge } from './newest-rows.ts';
import { spanFields } from './span-fields.ts';
import { beginningOf, findOrigins, type Origin, originColumn, unknownOrigin } from './span-origins.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';
import { shownEventsField, withEvents } from './tree-event-queries.ts';
import type { TreeSpan } from './tree-span.ts';

/** The spans of a trace that were read: at most the earliest {@link spansPerTraceMax}. */
export interface TreeSpans {
  spans: TreeSpan[];
  /** Whether the trace has more spans. */
  truncated: boolean;
}

/**
 * The earliest spans are read up to this many bytes, as ClickHouse counts them. ClickHouse stops
 * after a whole block, so the answer may be slightly larger.
 */
const largeSettings = {
  max_result_bytes: `${24 * 1024 * 1024}`,
  result_overflow_mode: 'break',
  max_block_size: '4096',
} as const;

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
};
const noEvents = field('[]', (): TreeSpan['events'] => []);
/** The events are read with few rows, and after many rows. */
const fewReader = rowReader({ ...fields, events: shownEventsField });
const plainReader = rowReader({ ...fields, events: noEvents });
const earliestReader = rowReader({ ...fields, eventsBytes: plain<number>('events_bytes::Float64') });

type Row = RowOf<typeof fewReader>;

/**
 * How a tree is read. `large`: a trace of any size is read, up to a bound in bytes; otherwise a trace
 * of at most {@link rowsHereMax} rows. `events`: its spans have their events.
 */
export interface TreeRead {
  large: boolean;
  events: boolean;
}

/**
 * Returns the spans of one trace with the fields of its tree and timeline, each once as last
 * received. A `large` trace is read up to a bound in bytes, any other completely.
 * @throws LargeTraceError when the trace must be read as `large`
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findTreeSpans(
  clickhouse: ClickHouse,
  trace: TraceKey,
  { large, events }: TreeRead,
): Promise<TreeSpans> {
  const [rows, count] = await (large
    ? Promise.all([findEarliest(clickhouse, trace, events), countSpans(clickhouse, trace)])
    : findFewRows(clickhouse, trace, events));
  const origins = await findOrigins(clickhouse, trace, new Set(rows.map(({ origin }) => origin)));
  const spans = rows.map((row) => toTreeSpan(row, origins.get(row.origin) ?? unknownOrigin));
  return { spans, truncated: rows.length < count };
}

/** Sorts rows without their events, which may have 64 MiB each. */
const newest = `SELECT *, events.size AS events_bytes, ${originColumn}, _part FROM spans
  PREWHERE ${ofTrace} AND (span_id, received_at) IN (SELECT span_id, max(received_at) FROM spans PREWHERE ${ofTrace} GROUP BY span_id)
  ORDER BY ${rowAge} DESC LIMIT 1 BY span_id`;
const earliest = `SELECT ${earliestReader.columns} FROM (${newest}) ORDER BY start_unix_nano, span_id LIMIT ${spansPerTraceMax}`;

async function findEarliest(clickhouse: ClickHouse, trace: TraceKey, events: boolean): Promise<Row[]> {
  const rows = await readFields(clickhouse, earliestReader, {
    query: earliest,
    query_params: { ...trace },
    clickhouse_settings: largeSettings,
  });
  return events ? withEvents(clickhouse, trace, rows) : rows.map((row) => ({ ...row, events: [] }));
}

/**
 * Reads all rows of the trace and picks the newest here: ClickHouse would take half as long again
 * to do it.
 */
async function findFewRows(clickhouse: ClickHouse, trace: TraceKey, events: boolean): Promise<[Row[], number]> {
  const reader = events ? fewReader : plainReader;
  const query = `SELECT ${reader.columns} FROM spans PREWHERE ${ofTrace} LIMIT ${rowsHereMax + 1}`;
  const all = assertSmall(await readFields(clickhouse, reader, { query, query_params: { ...trace } }));
  const rows = newestRows(all).map(({ row }) => row);
  return [rows, rows.length];
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

import { createHash } from 'node:crypto';
import { type ClickHouse, joinSettings, lastSettings } from '../../stores/clickhouse/client.ts';
import { plain, type RowOf, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { rowsOf } from '../../stores/clickhouse/statements.ts';
import { rowAge } from './newest-rows.ts';
import { noParent } from './span-fields.ts';
import { type StoredSpan, storedSpan } from './stored-span.ts';
import { boundSpans, ofSpans, ofTraces, type SpanKey } from './trace-sql.ts';

const row = `argMax(tuple(log_count + dropped_log_records + trace_log_records, log_records,
  parent_span_id = ${noParent}, start_unix_nano, response_id, trace_log_records), ${rowAge})`;
const joinedFields = {
  traceId: plain<string>('lower(hex(trace_id))'),
  spanId: plain<string>('lower(hex(span_id))'),
  /** The log records that its row knows of. */
  used: plain<number>('toFloat64(row.1)'),
  /** Of these, records of the whole trace that it shows. */
  usedOfTrace: plain<number>('row.6'),
  version: plain<number>('row.2'),
};
const joined = rowReader(joinedFields);
const showing = rowReader({
  ...joinedFields,
  isRoot: plain<boolean>('row.3'),
  startUnixNano: plain<string>('toString(row.4)'),
  responseId: plain<string>('row.5'),
});

/** What a span knows of its log records. */
export type JoinedSpan = RowOf<typeof joined>;
/** The same, and what decides whether it shows records of its trace. */
export type ShowingSpan = RowOf<typeof showing>;

const newest = (which: string) =>
  `(SELECT trace_id, span_id, ${row} AS row FROM spans PREWHERE project_id = {projectId:String}
    AND ${ofTraces('{traces:String}')}${which} GROUP BY trace_id, span_id)`;

/**
 * Returns those of at most {@link spansPerQuery} spans that are stored, as last received. Reads narrow columns only.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findJoinedSpans(
  clickhouse: ClickHouse,
  projectId: string,
  spans: readonly SpanKey[],
): Promise<JoinedSpan[]> {
  return rowsOf(
    clickhouse,
    joined,
    `SELECT ${joined.columns} FROM ${newest(` AND ${ofSpans}`)}`,
    keyParams(projectId, spans),
    { max_result_rows: '0', ...joinSettings(spans.length, 0) },
  );
}

/**
 * Returns the spans of traces that show records of the whole trace, could, or did: those with the
 * given ids of responses, and the earliest roots. Of each trace at most `perTrace` roots and as many others.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findShowingSpans(
  clickhouse: ClickHouse,
  projectId: string,
  {
    traceIds,
    responseIds,
    perTrace,
  }: { traceIds: readonly string[]; responseIds: readonly string[]; perTrace: number },
): Promise<ShowingSpan[]> {
  const isNamed = "MD5(row.5) IN reinterpret(unhex({responses:String}), 'Array(FixedString(16))')";
  return rowsOf(
    clickhouse,
    showing,
    `SELECT ${showing.columns} FROM ${newest('')} WHERE row.6 > 0 OR row.3 OR (row.5 != '' AND ${isNamed})
     ORDER BY trace_id, row.6 > 0 DESC, row.4, span_id LIMIT {perTrace:UInt32} BY trace_id, row.3`,
    {
      ...{ projectId, traces: traceIds.join(''), perTrace },
      responses: [...new Set(responseIds.map((id) => createHash('md5').update(id).digest('hex')))].join(''),
    },
    { max_result_rows: '0', ...lastSettings },
  );
}

const bytesAsSent = `byteSize(attributes_string, attributes_other, input, output, events, links, resource, scope,
  span_name, status_message, trace_state)`;

/**
 * Returns the given spans as last received, with everything that was sent, except those that have more
 * than `spanBytesMax` bytes. `bytes` are those of their log records.
 * @throws TooLargeError when they have more than `bytesMax` bytes together
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readSpansOf(
  clickhouse: ClickHouse,
  projectId: string,
  {
    spans,
    spanBytesMax,
    bytesMax,
  }: { spans: readonly (SpanKey & { bytes: number })[]; spanBytesMax: number; bytesMax: number },
): Promise<StoredSpan[]> {
  const bytes = spans.reduce((sum, span) => sum + span.bytes, 0);
  return rowsOf(
    clickhouse,
    storedSpan,
    `SELECT ${storedSpan.columns} FROM
       (SELECT * FROM spans PREWHERE project_id = {projectId:String} AND ${ofTraces('{traces:String}')} AND ${ofSpans}
        ORDER BY ${rowAge} DESC LIMIT 1 BY trace_id, span_id) WHERE ${bytesAsSent} <= {spanBytesMax:UInt64}`,
    { ...keyParams(projectId, spans), spanBytesMax },
    { max_result_rows: '0', max_result_bytes: String(bytesMax), ...joinSettings(spans.length, bytes) },
  );
}

function keyParams(projectId: string, spans: readonly SpanKey[]) {
  return {
    projectId,
    traces: [...new Set(spans.map(({ traceId }) => traceId))].join(''),
    ...boundSpans(spans),
  };
}

import { type ClickHouse, joinSettings, lastSettings } from '../../stores/clickhouse/client.ts';
import { plain, type RowOf, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { rowsOf } from '../../stores/clickhouse/statements.ts';
import { rowAge } from './newest-rows.ts';
import { noParent } from './span-fields.ts';
import { type StoredSpan, storedSpan } from './stored-span.ts';
import { ofTraces } from './trace-sql.ts';

/** A span, named by its ids in hex. */
export interface SpanKey {
  traceId: string;
  spanId: string;
}

const joined = rowReader({
  traceId: plain<string>('lower(hex(trace_id))'),
  spanId: plain<string>('lower(hex(span_id))'),
  /** The log records that its row knows of. */
  used: plain<number>('toFloat64(row.1)'),
  version: plain<number>('row.2'),
  isRoot: plain<boolean>(`row.3 = ${noParent}`),
  startUnixNano: plain<string>('toString(row.4)'),
  responseId: plain<string>('row.5'),
});

/** What a span knows of its log records, and what decides which one shows those of its trace. */
export type JoinedSpan = RowOf<typeof joined>;

const ofKeys =
  "toFixedString(concat(trace_id, span_id), 24) IN reinterpret(unhex({keys:String}), 'Array(FixedString(24))')";

/**
 * Returns the given spans as last received, those of them that are stored, and all spans of the
 * given traces. Reads narrow columns only.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findJoinedSpans(
  clickhouse: ClickHouse,
  projectId: string,
  { spans, traceIds }: { spans: readonly SpanKey[]; traceIds: readonly string[] },
): Promise<JoinedSpan[]> {
  const row =
    'tuple(log_count + dropped_log_records + trace_log_records, log_records, parent_span_id, start_unix_nano, response_id)';
  return rowsOf(
    clickhouse,
    joined,
    `SELECT ${joined.columns} FROM
       (SELECT trace_id, span_id, argMax(${row}, ${rowAge}) AS row FROM spans
        PREWHERE project_id = {projectId:String} AND ${ofTraces('{traces:String}')}
          AND (${ofKeys} OR ${ofTraces('{wholeTraces:String}')})
        GROUP BY trace_id, span_id)`,
    {
      ...keyParams(projectId, spans, traceIds),
      wholeTraces: traceIds.join(''),
    },
    { max_result_rows: '0', ...(traceIds.length > 0 ? lastSettings : joinSettings(spans.length, 0)) },
  );
}

/**
 * Returns the given spans as last received, with everything that was sent. `bytes` are those of their log records.
 * @throws TooLargeError when they have more than `bytesMax` bytes
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readSpansOf(
  clickhouse: ClickHouse,
  projectId: string,
  { spans, bytesMax }: { spans: readonly (SpanKey & { bytes: number })[]; bytesMax: number },
): Promise<StoredSpan[]> {
  const bytes = spans.reduce((sum, span) => sum + span.bytes, 0);
  return rowsOf(
    clickhouse,
    storedSpan,
    `SELECT ${storedSpan.columns} FROM
       (SELECT * FROM spans PREWHERE project_id = {projectId:String} AND ${ofTraces('{traces:String}')} AND ${ofKeys}
        ORDER BY ${rowAge} DESC LIMIT 1 BY trace_id, span_id)`,
    keyParams(projectId, spans, []),
    { max_result_rows: '0', max_result_bytes: String(bytesMax), ...joinSettings(spans.length, bytes) },
  );
}

function keyParams(projectId: string, spans: readonly SpanKey[], traceIds: readonly string[]) {
  return {
    projectId,
    traces: [...new Set([...spans.map(({ traceId }) => traceId), ...traceIds])].join(''),
    keys: spans.map(({ traceId, spanId }) => traceId + spanId).join(''),
  };
}

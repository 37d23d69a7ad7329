/** A trace of one project; `traceId` is 32 hex digits. */
export interface TraceKey {
  projectId: string;
  traceId: string;
}

/** SQL condition for the rows of one trace, with the two parameters of {@link TraceKey}. */
export const ofTrace = 'project_id = {projectId:String} AND trace_id = toFixedString(unhex({traceId:String}), 16)';

/**
 * Returns the SQL condition for the rows of several traces. `ids` names a bound String parameter:
 * the 32 hex digits of each id, concatenated. An array built without a lambda uses the primary key
 * as a sub-query's set does, and takes a third less time.
 */
export function ofTraces(ids: string): string {
  return `trace_id IN reinterpret(unhex(${ids}), 'Array(FixedString(16))')`;
}

/** A span, named by its ids in hex. */
export interface SpanKey {
  traceId: string;
  spanId: string;
}

/**
 * SQL condition for the rows of some spans, with the parameters of {@link boundSpans}. The condition on the span id
 * alone uses the primary key.
 */
export const ofSpans = `span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')
  AND toFixedString(concat(trace_id, span_id), 24) IN reinterpret(unhex({spanKeys:String}), 'Array(FixedString(24))')`;

/** A value of a parameter may have 128 KiB (`http_max_field_value_size` of ClickHouse), which are so many spans. */
export const spansPerQuery = 2_500;

/** Returns the parameters of {@link ofSpans}. */
export function boundSpans(spans: readonly SpanKey[]): { spanIds: string; spanKeys: string } {
  return {
    spanIds: spans.map(({ spanId }) => spanId).join(''),
    spanKeys: spans.map(({ traceId, spanId }) => traceId + spanId).join(''),
  };
}

/**
 * Which rows of `spans` a condition searches. `any`: all rows, also those that a resend replaced, of
 * the traces of `ids` if given; fast, but it may find too many traces. With `rowsMax` the query fails
 * if the indexes leave more rows. `current`: the newest row of each span. `currentOf`: the newest rows of
 * some traces. Ids are bound, see {@link ofTraces}.
 */
export type SearchedRows =
  | { any: { ids?: string | undefined; rowsMax?: number | undefined } }
  | 'current'
  | { currentOf: string };

/**
 * Returns SQL that is true for rows whose trace has a span that satisfies `test`. `project` and the
 * ids are bound parameters.
 */
export function hasSpan(test: string, { project, rows }: { project: string; rows: SearchedRows }): string {
  const ofProject = `project_id = ${project}`;
  if (typeof rows === 'object' && 'any' in rows) {
    const { ids, rowsMax } = rows.any;
    const ofIds = ids === undefined ? '' : ` AND ${ofTraces(ids)}`;
    // Indexes that are used during the read would leave no estimate.
    const bound =
      rowsMax === undefined ? '' : ` SETTINGS max_rows_to_read = ${rowsMax}, use_skip_indexes_on_data_read = 0`;
    return isAmong(`spans WHERE ${ofProject}${ofIds} AND ${test}${bound}`);
  }
  if (rows === 'current') return isAmong(`spans FINAL WHERE ${ofProject} AND ${test}`);
  const traces = `${ofProject} AND ${ofTraces(rows.currentOf)}`;
  // Selects the newest row of each span as FINAL would, but reads only small columns. The index
  // then answers the test without reading the tested columns.
  const newest = `SELECT trace_id, span_id, max(received_at) FROM spans WHERE ${traces} GROUP BY trace_id, span_id`;
  return isAmong(`spans WHERE ${traces} AND ${test} AND (trace_id, span_id, received_at) IN (${newest})`);
}

const isAmong = (from: string) => `trace_id IN (SELECT trace_id FROM ${from})`;

/**
 * SQL for the traces that received spans in [fromMs, toMs), which are bound parameters: how many
 * distinct spans, and when the latest. ClickHouse skips data parts without receipts in the window.
 */
export const receivedTraces = `SELECT project_id, trace_id, uniqExact(span_id) AS spans, max(received_at) AS latest FROM spans
  PREWHERE received_at >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({toMs:Int64}, 'UTC')
  GROUP BY project_id, trace_id`;

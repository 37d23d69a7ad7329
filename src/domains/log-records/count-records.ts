import { type ClickHouse, type ClickHouseSettings, joinSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { boundSpans, ofSpans, ofTraces, type SpanKey, spansPerQuery } from '../spans/index.ts';

/** A span, or with the zero span id a trace, and the records that are stored for it. */
export interface RecordCount extends SpanKey {
  /** Distinct records. */
  records: number;
  /**
   * Bytes that reading them takes: their content, what is around it as JSON and as objects, and the different
   * resources and scopes, each as large as the largest. Resent ones count each time until they are merged.
   */
  bytes: number;
}

/** The span id of records that belong to a whole trace. */
export const noSpan = '0'.repeat(16);

/** About what a record takes beside what was sent. */
export const overheadBytes = 500;
/** Every record repeats this JSON, but equal JSON is parsed once. ClickHouse sends 100 MB of it in 0.6 s. */
const origin = 'origin_bytes';
const origins = 'uniqExact(origin_hash)';
const bytes = `sum(log_records.bytes + ${overheadBytes} + (${origin}) / 16) + ${origins} * max(${origin})`;

/** The spans to count the records of. Ids travel in the URL, and ClickHouse accepts at most 1 MiB of it. */
export interface RecordsToCount {
  /** At most 2,500. */
  traceIds: readonly string[];
  /** Only these spans of the traces; at most 2,500. */
  spans?: readonly SpanKey[];
  /** Only spans with ids after this one. */
  after?: string;
  /** So many spans of each trace, the lowest ids first. */
  perTrace?: number;
  /** So many spans together. */
  max?: number;
}

/**
 * Returns how many records are stored for each span of the traces, in the order of the ids; spans
 * without records are absent.
 * @throws UnavailableError while ClickHouse is unavailable
 * @throws TooLargeError when a limit in `settings` is exceeded
 */
export function countRecords(
  clickhouse: ClickHouse,
  projectId: string,
  { traceIds, spans, after, perTrace, max }: RecordsToCount,
  settings: ClickHouseSettings = {},
): Promise<RecordCount[]> {
  const which = [
    `project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}`,
    ...(spans === undefined ? [] : [ofSpans]),
    ...(after === undefined ? [] : ['span_id > toFixedString(unhex({after:String}), 8)']),
  ];
  return readRows<RecordCount>(clickhouse, {
    query: `SELECT lower(hex(trace_id)) AS traceId, lower(hex(span_id)) AS spanId,
              uniqExact(record_id)::Float64 AS records, (${bytes})::Float64 AS bytes
            FROM log_records PREWHERE ${which.join(' AND ')} GROUP BY trace_id, span_id ORDER BY trace_id, span_id
            ${perTrace === undefined ? '' : `LIMIT ${perTrace} BY trace_id`} ${max === undefined ? '' : `LIMIT ${max}`}`,
    query_params: {
      projectId,
      traceIds: traceIds.join(''),
      ...(spans && boundSpans(spans)),
      ...(after !== undefined && { after }),
    },
    clickhouse_settings: {
      max_result_rows: '0',
      ...joinSettings(traceIds.length, 0),
      // A page then reads its own spans, and not all after it.
      ...(after !== undefined && { optimize_aggregation_in_order: 1 }),
      ...settings,
    },
    format: 'JSONEachRow',
  });
}

/** Splits a list into parts of at most {@link spansPerQuery} spans. */
export function partsPerQuery<Span>(spans: readonly Span[]): Span[][] {
  const starts = Array.from({ length: Math.ceil(spans.length / spansPerQuery) }, (_, index) => index * spansPerQuery);
  return starts.map((start) => spans.slice(start, start + spansPerQuery));
}

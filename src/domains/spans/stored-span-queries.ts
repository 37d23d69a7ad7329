import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows, type StreamedRow, streamFields } from '../../stores/clickhouse/statements.ts';
import { type StoredSpan, storedSpan } from './stored-span.ts';

export interface StoredSpansFilter {
  /** Undefined for every project. */
  projectId: string | undefined;
  /** Selects spans of a normalizer version below this one. */
  belowVersion: number;
  receivedBeforeMs: number;
}

const condition = `normalizer_version < {belowVersion:UInt32}
  AND received_at < fromUnixTimestamp64Milli({receivedBeforeMs:Int64})`;

/**
 * These queries read everything stored, unlike those of a request. One page of spans may be large.
 */
const settings = {
  max_execution_time: 600,
  max_result_rows: '0',
  max_result_bytes: '0',
  max_block_size: '1024',
  output_format_json_quote_denormals: 1,
} as const;

/**
 * Returns the number of matching spans by project.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function countStoredSpans(
  clickhouse: ClickHouse,
  { projectId, ...filter }: StoredSpansFilter,
): Promise<Map<string, number>> {
  const ofProject = projectId === undefined ? '' : 'project_id = {projectId:String} AND';
  const rows = await readRows<{ projectId: string; spans: number }>(clickhouse, {
    query: `SELECT project_id AS projectId, count()::Float64 AS spans FROM spans FINAL WHERE ${ofProject} ${condition}
            GROUP BY project_id ORDER BY project_id`,
    query_params: { ...filter, projectId: projectId ?? '' },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
  return new Map(rows.map(({ projectId: id, spans }) => [id, spans]));
}

export type ReadSpan = StreamedRow<StoredSpan>;

const spansPerPage = 5_000;

/**
 * Yields the spans of one project in the order of their ids, as last received. Reads page by page
 * and never holds all of them. Spans that arrive or change meanwhile may or may not be included.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function* readStoredSpans(
  clickhouse: ClickHouse,
  filter: StoredSpansFilter & { projectId: string },
): AsyncGenerator<ReadSpan> {
  let after = { traceId: '0'.repeat(32), spanId: '0'.repeat(16) };
  for (let read = spansPerPage; read === spansPerPage; ) {
    read = 0;
    for await (const span of readPage(clickhouse, filter, after)) {
      read++;
      after = { traceId: span.row.traceId, spanId: span.row.spanId };
      yield span;
    }
  }
}

/**
 * Reads one page. The query compares the trace id twice, because only the comparison of that column
 * alone uses the primary key.
 */
function readPage(
  clickhouse: ClickHouse,
  filter: StoredSpansFilter & { projectId: string },
  after: { traceId: string; spanId: string },
): AsyncGenerator<ReadSpan> {
  const trace = 'toFixedString(unhex({traceId:String}), 16)';
  return streamFields(clickhouse, storedSpan, {
    query: `SELECT ${storedSpan.columns} FROM spans FINAL
            WHERE project_id = {projectId:String} AND trace_id >= ${trace}
              AND (trace_id, span_id) > (${trace}, toFixedString(unhex({spanId:String}), 8))
              AND ${condition}
            ORDER BY trace_id, span_id LIMIT ${spansPerPage}`,
    query_params: { ...filter, ...after },
    clickhouse_settings: settings,
  });
}

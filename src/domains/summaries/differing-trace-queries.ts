import type { ClickHouse } from '../../stores/clickhouse/client.ts';

export interface DifferingTrace {
  projectId: string;
  traceId: string;
}

const tracesPerProjectMax = 1_000;

/**
 * Finds traces with spans received in [fromMs, toMs) whose execution is missing, has fewer spans
 * than the window, or is older than one of them. ClickHouse skips data parts without receipts in
 * the window. Returns at most `tracesMax`, and at most 1,000 of one project, which leaves room for
 * others.
 * @throws the error of ClickHouse
 */
export async function findDifferingTraces(
  clickhouse: ClickHouse,
  { fromMs, toMs, tracesMax }: { fromMs: number; toMs: number; tracesMax: number },
): Promise<DifferingTrace[]> {
  const received = `SELECT project_id, trace_id, uniqExact(span_id) AS spans, max(received_at) AS latest FROM spans
    PREWHERE received_at >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({toMs:Int64}, 'UTC')
    GROUP BY project_id, trace_id`;
  const listed = `SELECT project_id, trace_id, argMax(span_count, version) AS spans, argMax(executions.received_at, version) AS latest
    FROM executions WHERE (project_id, trace_id) IN (SELECT project_id, trace_id FROM received) GROUP BY project_id, trace_id`;
  const result = await clickhouse.query({
    query: `WITH received AS (${received}), listed AS (${listed})
            SELECT received.project_id AS projectId, lower(hex(received.trace_id)) AS traceId
            FROM received LEFT JOIN listed ON received.project_id = listed.project_id AND received.trace_id = listed.trace_id
            WHERE listed.spans < received.spans OR listed.latest < received.latest
            LIMIT ${tracesPerProjectMax} BY projectId LIMIT ${tracesMax}`,
    query_params: { fromMs, toMs },
    clickhouse_settings: { max_threads: 1, max_execution_time: 30, join_use_nulls: 0 },
    format: 'JSONEachRow',
  });
  return result.json<DifferingTrace>();
}

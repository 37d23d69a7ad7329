import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { receivedTraces } from '../spans/index.ts';

export interface DifferingTrace {
  projectId: string;
  traceId: string;
  /** When the latest span of the trace in the window was received, in milliseconds since the epoch. */
  latestMs: number;
}

const tracesPerProjectMax = 1_000;
/** A query ends before a worker stops waiting for it (15 s). Otherwise ClickHouse would seem to be unavailable. */
const secondsMax = 10;

/**
 * Finds traces with spans received in [fromMs, toMs) whose execution is missing, has fewer spans
 * than the window, or is older than one of them. Returns at most `tracesMax`, and at most 1,000 of
 * one project, which leaves room for others. `seed` tells which: with another one for each search, those of a workspace
 * with very many do not hide the others for long.
 * @throws UnavailableError while ClickHouse is unavailable, or when the window takes too long
 */
export async function findDifferingTraces(
  clickhouse: ClickHouse,
  { fromMs, toMs, tracesMax, seed }: { fromMs: number; toMs: number; tracesMax: number; seed: number },
): Promise<DifferingTrace[]> {
  const listed = `SELECT project_id, trace_id, argMax(span_count, version) AS spans, argMax(executions.received_at, version) AS latest
    FROM executions WHERE (project_id, trace_id) IN (SELECT project_id, trace_id FROM received) GROUP BY project_id, trace_id`;
  return readRows<DifferingTrace>(clickhouse, {
    query: `WITH received AS (${receivedTraces}), listed AS (${listed})
            SELECT received.project_id AS projectId, lower(hex(received.trace_id)) AS traceId,
              toUnixTimestamp64Milli(received.latest)::Float64 AS latestMs
            FROM received LEFT JOIN listed ON received.project_id = listed.project_id AND received.trace_id = listed.trace_id
            WHERE listed.spans < received.spans OR listed.latest < received.latest
            ORDER BY cityHash64(received.trace_id, {seed: UInt32})
            LIMIT ${tracesPerProjectMax} BY projectId LIMIT ${tracesMax}`,
    query_params: { fromMs, toMs, seed },
    clickhouse_settings: {
      ...{ max_threads: 1, max_execution_time: secondsMax, join_use_nulls: 0 },
      // Otherwise an error could follow rows, and look like a broken answer.
      wait_end_of_query: 1,
    },
    format: 'JSONEachRow',
  });
}

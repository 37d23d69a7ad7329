import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { ofTraces } from './trace-sql.ts';

/** Ids travel in the URL, and ClickHouse accepts at most 1 MiB of it. */
const tracesPerQuery = 1_000;
/** Parallel queries. One query of 1,000 traces takes 10 to 30 ms, mostly waiting. */
const queriesAtOnce = 2;

/** The rows that `spans` has of a trace, including rows that a resend replaced. */
export interface TraceRows {
  rows: number;
  /** Distinct spans; null when there are more than {@link spansCountedMax}. */
  spans: number | null;
  /** When the latest row was received. */
  latestMs: number;
  /** Rows received at that time; at most one more than {@link spansCountedMax}. */
  latestRows: number;
}

/** Spans of a trace that are counted, so that a large trace costs no more. */
const spansCountedMax = 100;
const received = 'toUnixTimestamp64Milli(received_at)';
const traceRows = {
  rows: 'count()::Float64 AS rows',
  latest: `count()::Float64 AS rows, nullIf(uniqUpTo(${spansCountedMax})(span_id)::Float64, ${spansCountedMax + 1}) AS spans,
    countEqual(groupArraySorted(${spansCountedMax + 1})(-${received}) AS latest, latest[1])::Float64 AS latestRows,
    -latest[1]::Float64 AS latestMs`,
} as const;

/**
 * Returns how many rows `spans` has of each trace, including rows that a resend replaced. A trace
 * without rows is absent.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function countTraceRows(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  settings: ClickHouseSettings = {},
): Promise<Map<string, number>> {
  const which = { projectId, traceIds, values: traceRows.rows, settings };
  const found = await selectOfTraces<{ rows: number }>(clickhouse, which);
  return new Map([...found].map(([traceId, { rows }]) => [traceId, rows]));
}

/**
 * Returns the rows of each trace. A trace without rows is absent.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function describeTraceRows(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
): Promise<Map<string, TraceRows>> {
  return selectOfTraces(clickhouse, { projectId, traceIds, values: traceRows.latest });
}

/** Selects `values` of each trace. */
async function selectOfTraces<Row>(
  clickhouse: ClickHouse,
  {
    projectId,
    traceIds,
    values,
    settings = {},
  }: { projectId: string; traceIds: readonly string[]; values: string; settings?: ClickHouseSettings },
): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  const chunks = Array.from({ length: Math.ceil(traceIds.length / tracesPerQuery) }, (_, index) =>
    traceIds.slice(index * tracesPerQuery, (index + 1) * tracesPerQuery),
  );
  const selectNext = async () => {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      const found = await readRows<{ traceId: string } & Row>(clickhouse, {
        query: `SELECT lower(hex(trace_id)) AS traceId, ${values} FROM spans
                PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')} GROUP BY trace_id`,
        query_params: { projectId, traceIds: chunk.join('') },
        clickhouse_settings: settings,
        format: 'JSONEachRow',
      });
      for (const row of found) rows.set(row.traceId, row);
    }
  };
  await Promise.all(Array.from({ length: queriesAtOnce }, selectNext));
  return rows;
}

/**
 * The query covers a month, but reads key columns only. It ends before the worker stops waiting for
 * it (15 s), so that no query runs on without a reader.
 */
const monthSettings = { max_execution_time: 12, max_threads: 1 } as const;

/**
 * Returns the number of distinct spans per project that were received in [fromMs, toMs), each
 * counted once however often it was sent. A project without spans is absent.
 * @throws UnavailableError while ClickHouse is unavailable or too slow
 */
export async function countReceivedSpans(
  clickhouse: ClickHouse,
  { projectIds, fromMs, toMs }: { projectIds: readonly string[]; fromMs: number; toMs: number },
): Promise<Map<string, number>> {
  const rows = await readRows<{ project_id: string; spans: string }>(clickhouse, {
    query: `
      SELECT project_id, count() AS spans FROM spans FINAL
      WHERE project_id IN {projectIds: Array(String)}
        AND received_at >= fromUnixTimestamp64Milli({fromMs: Int64}, 'UTC')
        AND received_at < fromUnixTimestamp64Milli({toMs: Int64}, 'UTC')
      GROUP BY project_id`,
    query_params: { projectIds: [...projectIds], fromMs, toMs },
    format: 'JSONEachRow',
    clickhouse_settings: monthSettings,
  });
  return new Map(rows.map((row) => [row.project_id, Number(row.spans)]));
}

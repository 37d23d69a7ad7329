import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { ofTraces } from './trace-sql.ts';

/** Ids travel in the URL, and ClickHouse accepts at most 1 MiB of it. */
const tracesPerQuery = 1_000;
/** Parallel queries. One query of 1,000 traces takes 10 to 30 ms, mostly waiting. */
const queriesAtOnce = 2;

/**
 * Reads ClickHouse's clock, in nanoseconds since the epoch, to order summaries. A worker reads the
 * clock after its spans are confirmed and before it reads the trace. So a summary without these
 * spans never has a later time than the summary with all of them.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readEngineClock(clickhouse: ClickHouse): Promise<bigint> {
  const [row] = await readRows<{ now: string }>(clickhouse, {
    query: 'SELECT toUnixTimestamp64Nano(now64(9))::UInt64 AS now',
    format: 'JSONEachRow',
  });
  if (row === undefined) throw new Error('The query of the clock returned no row');
  return BigInt(row.now);
}

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
): Promise<Map<string, number>> {
  const found = await selectOfTraces<{ rows: number }>(clickhouse, { projectId, traceIds, values: traceRows.rows });
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
  { projectId, traceIds, values }: { projectId: string; traceIds: readonly string[]; values: string },
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
        format: 'JSONEachRow',
      });
      for (const row of found) rows.set(row.traceId, row);
    }
  };
  await Promise.all(Array.from({ length: queriesAtOnce }, selectNext));
  return rows;
}

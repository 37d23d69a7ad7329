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
  if (row === undefined) throw new Error('The clock is always one row');
  return BigInt(row.now);
}

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
  const counts = new Map<string, number>();
  const chunks = Array.from({ length: Math.ceil(traceIds.length / tracesPerQuery) }, (_, index) =>
    traceIds.slice(index * tracesPerQuery, (index + 1) * tracesPerQuery),
  );
  const countNext = async () => {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      const found = await readRows<{ traceId: string; rows: number }>(clickhouse, {
        query: `SELECT lower(hex(trace_id)) AS traceId, count()::Float64 AS rows FROM spans
                PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')} GROUP BY trace_id`,
        query_params: { projectId, traceIds: chunk.join('') },
        format: 'JSONEachRow',
      });
      for (const { traceId, rows } of found) counts.set(traceId, rows);
    }
  };
  await Promise.all(Array.from({ length: queriesAtOnce }, countNext));
  return counts;
}

import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { ofTraces } from './trace-sql.ts';

/** Ids travel in the URL, of which a server takes 1 MiB. */
const tracesPerQuery = 1_000;
/** Ways of asking at once: one query of so many traces takes 10 to 30 ms, most of it waiting. */
const queriesAtOnce = 2;

/**
 * The engine's clock in nanoseconds since the epoch. Asked before spans are read, it orders summaries: whoever stores spans reads the
 * clock after they are confirmed and before it reads them, so no summary without them has a later time than the one that has them all.
 */
export async function readEngineClock(clickhouse: ClickHouse): Promise<bigint> {
  const result = await clickhouse.query({
    query: 'SELECT toUnixTimestamp64Nano(now64(9))::UInt64 AS now',
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ now: string }>();
  if (row === undefined) throw new Error('The clock is always one row');
  return BigInt(row.now);
}

/** How many rows `spans` has of each trace. It counts rows that a resend has replaced; a trace without rows is left out. */
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
      const result = await clickhouse.query({
        query: `SELECT lower(hex(trace_id)), count()::Float64 FROM spans
                PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')} GROUP BY trace_id`,
        query_params: { projectId, traceIds: chunk.join('') },
        format: 'JSONCompactEachRow',
      });
      for (const [traceId, rows] of await result.json<[string, number]>()) counts.set(traceId, rows);
    }
  };
  await Promise.all(Array.from({ length: queriesAtOnce }, countNext));
  return counts;
}

import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';

/** A month of a large workspace, read by its key columns alone; one that takes longer is left as it is. */
const settings = { max_execution_time: 60, max_threads: 1 } as const;

/**
 * How many distinct spans of these projects are stored that were received in [fromMs, toMs), each once however often it was sent.
 * Throws UnavailableError when the trace store is away or takes too long.
 */
export async function countStoredSpans(
  clickhouse: ClickHouse,
  { projectIds, fromMs, toMs }: { projectIds: readonly string[]; fromMs: number; toMs: number },
): Promise<number> {
  const result = await runClickHouse(() =>
    clickhouse.query({
      query: `
        SELECT count() AS spans FROM spans FINAL
        WHERE project_id IN {projectIds: Array(String)}
          AND received_at >= fromUnixTimestamp64Milli({fromMs: Int64}, 'UTC')
          AND received_at < fromUnixTimestamp64Milli({toMs: Int64}, 'UTC')`,
      query_params: { projectIds: [...projectIds], fromMs, toMs },
      format: 'JSONEachRow',
      clickhouse_settings: settings,
    }),
  );
  const [row] = await result.json<{ spans: string }>();
  return Number(row?.spans ?? 0);
}

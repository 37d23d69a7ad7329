import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';

/**
 * The query covers a month, but reads key columns only. It ends before the worker stops waiting for
 * it (15 s), so that no query runs on without a reader.
 */
const settings = { max_execution_time: 12, max_threads: 1 } as const;

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
    clickhouse_settings: settings,
  });
  return new Map(rows.map((row) => [row.project_id, Number(row.spans)]));
}

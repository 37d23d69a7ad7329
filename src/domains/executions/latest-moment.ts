import { cachedFor } from '../../lib/cached-for.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { latestMomentSql } from './execution-place-queries.ts';
import { listSettings } from './list-settings.ts';

/** The moment is read again after this time while lists are read. */
const refreshMs = 100;
/** A list shows a moment that was read at most so long ago. What changed since then costs it a further query. */
const usedMs = 250;

/**
 * Returns a function that tells the latest moment that a list can show, in milliseconds since the epoch by the clock of
 * ClickHouse; undefined when none was read lately. To read it takes ClickHouse 2 ms, a tenth of a short list, so the
 * lists of all workspaces share it.
 */
export function createLatestMoment(clickhouse: ClickHouse): () => number | undefined {
  let latest = { atMs: 0, readAtMs: Number.NEGATIVE_INFINITY };
  const read = cachedFor(refreshMs, async () => {
    const readAtMs = performance.now();
    const [row] = await readRows<{ atMs: number }>(clickhouse, {
      query: `SELECT ${latestMomentSql} AS atMs`,
      clickhouse_settings: listSettings,
      format: 'JSONEachRow',
    });
    if (row !== undefined) latest = { atMs: row.atMs, readAtMs };
  });
  return () => {
    // A list without a moment reads its own, and reports why that fails.
    read().catch(() => undefined);
    return performance.now() - latest.readAtMs < usedMs ? latest.atMs : undefined;
  };
}

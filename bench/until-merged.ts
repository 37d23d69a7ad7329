import { setTimeout as delay } from 'node:timers/promises';
import { quicklyMergedBytesMax, restingPartsMax } from '../src/domains/spans/merge-data-parts.ts';
import type { ClickHouse } from '../src/stores/clickhouse/client.ts';

const mergesPollMs = 500;
const unmerged = `SELECT (SELECT count() FROM system.merges)::Float64 AS merges,
  (SELECT count() FROM system.parts WHERE active AND table = 'spans'
    AND bytes_on_disk <= ${quicklyMergedBytesMax})::Float64 AS parts`;

/** Waits until the worker has merged the parts, which it does after some time without new rows. */
export async function untilMerged(clickhouse: ClickHouse): Promise<void> {
  for (;;) {
    const result = await clickhouse.query({ query: unmerged, format: 'JSONEachRow' });
    const [row] = await result.json<{ merges: number; parts: number }>();
    if (row?.merges === 0 && row.parts <= restingPartsMax) return;
    await delay(mergesPollMs);
  }
}

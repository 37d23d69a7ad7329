import type { z } from 'zod';
import type { FairLane } from '../../lib/fair-lane.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { stoppable } from '../../stores/clickhouse/client.ts';
import type { SharedPrompts } from '../prompt-links/index.ts';
import { changeOf, type statsQuery, type statsSchema, sumsToWire, topToWire } from './stats.schema.ts';
import { readSums, readTop } from './stats-queries.ts';
import { topCalls } from './top-calls.ts';
import { bucketsOf, readDataAsOf, windowToWire } from './window.ts';

export interface StatsDeps {
  clickhouse: ClickHouse;
  knownPrompts: SharedPrompts;
  /** Shared by all workspaces; see {@link statsLane}. */
  lane: FairLane;
  /** The time of receipt of the oldest body that is not stored yet, in ms since the epoch. */
  oldestUnstoredMs: (workspaceId: string) => Promise<number | undefined>;
}

/**
 * Returns what a project did in a time window, in all and for each bucket, compared with the window
 * before. An execution belongs to the bucket in which it started.
 * @throws MalformedError for a window that is empty or too long, or has too many buckets
 * @throws RateLimitedError or UnavailableError when the lane is full, or a store is unavailable
 */
export async function getStats(
  deps: StatsDeps,
  {
    projectId,
    workspaceId,
    signal,
    query,
  }: {
    projectId: string;
    workspaceId: string;
    signal: AbortSignal;
    query: z.output<typeof statsQuery>;
  },
): Promise<z.infer<typeof statsSchema>> {
  const nowMs = Date.now();
  const { window, granularity, starts, isPartial } = bucketsOf(query, nowMs);
  const dataAsOf = await readDataAsOf(() => deps.oldestUnstoredMs(workspaceId), nowMs);
  const clickhouse = stoppable(deps.clickhouse, signal);
  const [rows, calls, users, errors] = await deps.lane.run(
    workspaceId,
    () =>
      Promise.all([
        readSums(clickhouse, { projectId, window, starts }),
        readTop(clickhouse, 'calls', { projectId, window }),
        readTop(clickhouse, 'users', { projectId, window }),
        readTop(clickhouse, 'errors', { projectId, window }),
      ]),
    { waiter: { signal } },
  );
  const total = (isCurrent: 0 | 1) => sumsToWire(rows.find((row) => row.isTotal === 1 && row.isCurrent === isCurrent));
  const byStart = new Map(
    rows.flatMap((row) => (row.isCurrent === 1 && row.isTotal === 0 ? [[Number(row.bucket), row]] : [])),
  );
  const [totals, previous] = [total(1), total(0)];
  return {
    window: windowToWire(window),
    granularity,
    tz: query.tz,
    totals,
    previous,
    change: changeOf(totals, previous),
    series: starts.map((startMs) => ({
      bucket: new Date(startMs).toISOString(),
      partial: isPartial(startMs),
      ...sumsToWire(byStart.get(startMs)),
    })),
    top: topToWire({ calls: await topCalls(deps.knownPrompts.of(workspaceId), projectId, calls), users, errors }),
    data_as_of: dataAsOf,
  };
}

import type { z } from 'zod';
import { MalformedError } from '../../lib/errors.ts';
import type { FairLane } from '../../lib/fair-lane.ts';
import { within } from '../../lib/within.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { stoppable } from '../../stores/clickhouse/client.ts';
import {
  autoGranularity,
  bucketStarts,
  bucketsMax,
  type Granularity,
  hasFewBuckets,
  nextStart,
  type Window,
} from './buckets.ts';
import { changeOf, type statsQuery, type statsSchema, sumsToWire, topToWire } from './stats.schema.ts';
import { readSums, readTop } from './stats-queries.ts';

const dayMs = 24 * 60 * 60_000;
const defaultWindowMs = 7 * dayMs;
const windowDaysMax = 366;
const queueWaitMsMax = 500;

export interface StatsDeps {
  clickhouse: ClickHouse;
  /** Shared by all workspaces; see {@link statsLane}. */
  lane: FairLane;
  /** The time of receipt of the oldest body that is not stored yet, in ms since the epoch. */
  oldestUnstoredMs: () => Promise<number | undefined>;
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
  const window = windowOf(query, nowMs);
  const granularity = query.granularity === 'auto' ? autoGranularity(window) : query.granularity;
  if (!hasFewBuckets(window, granularity)) {
    throw refused(
      'granularity',
      `gives too many buckets: at most ${bucketsMax} are allowed. Use a longer granularity or a shorter window`,
    );
  }
  const starts = bucketStarts(window, granularity, query.tz);
  const asOfMs = await readAsOf(deps, nowMs);
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
    window: { from: new Date(window.fromMs).toISOString(), to: new Date(window.toMs).toISOString() },
    granularity,
    tz: query.tz,
    totals,
    previous,
    change: changeOf(totals, previous),
    series: starts.map((startMs) => ({
      bucket: new Date(startMs).toISOString(),
      partial: isPartial(startMs, window, { nowMs, granularity, zone: query.tz }),
      ...sumsToWire(byStart.get(startMs)),
    })),
    top: topToWire({ calls, users, errors }),
    data_as_of: asOfMs === null ? null : new Date(asOfMs).toISOString(),
  };
}

/** Returns null while the queue cannot be read, because reads do not need it otherwise. */
async function readAsOf({ oldestUnstoredMs }: StatsDeps, nowMs: number): Promise<number | null> {
  try {
    return Math.min((await within(queueWaitMsMax, oldestUnstoredMs)) ?? nowMs, nowMs);
  } catch {
    return null;
  }
}

function windowOf({ from, to }: z.output<typeof statsQuery>, nowMs: number): Window {
  const toMs = to === undefined ? nowMs : Date.parse(to);
  const fromMs = from === undefined ? toMs - defaultWindowMs : Date.parse(from);
  if (fromMs >= toMs) throw refused('from', 'must be before `to`');
  if (fromMs < 0) throw refused('from', 'must be 1970 or later');
  if (toMs - fromMs > windowDaysMax * dayMs)
    throw refused('from', `must be at most ${windowDaysMax} days before \`to\``);
  return { fromMs, toMs };
}

function isPartial(
  startMs: number,
  { fromMs, toMs }: Window,
  { nowMs, granularity, zone }: { nowMs: number; granularity: Granularity; zone: string },
): boolean {
  return startMs < fromMs || nextStart(startMs, granularity, zone) > Math.min(toMs, nowMs);
}

function refused(path: string, message: string): MalformedError {
  return new MalformedError('invalid_parameter', `${path} ${message}`, {
    errors: [{ path, code: 'invalid_parameter', message }],
  });
}

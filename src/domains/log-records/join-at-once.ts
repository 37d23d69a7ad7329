import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { storedCost } from '../spans/reads.ts';
import { findUnjoined } from './find-unjoined.ts';
import { joinHere, joinSpans, newLeft } from './join-records.ts';

/** Traces that are joined while a batch waits; the others are joined by the list of summaries. */
const atOnceMax = 300;
/** A count that takes longer than this has no answer. */
const countSettings = { max_execution_time: 2 };

/**
 * A workspace whose joins in one batch took longer than this, because a statement did, rests for ten times as long as
 * that was too long: the spans may be very large. Meanwhile its traces are joined by the list of summaries.
 */
const tooLongMs = 4 * joinHere.msMax;
const restPerMs = 10;
const restMsMax = 30_000;
/** When a workspace may join at once again, by `performance.now()`. */
const rests = new LRUCache<string, number>({ max: 10_000 });

/** Traces whose spans lacked records, and those that were not looked at: they may lack some, or have no span yet. */
export interface AtOnce {
  lacking: string[];
  unseen: string[];
}

/** Milliseconds that the joins of one batch have left, by workspace. One that is absent has all. */
export type JoinTime = Map<string, number>;

/**
 * Joins the records of those of the traces that lack some, as far as that is quick and the workspace has time left. What
 * is large, too much at once, or fails is left.
 * All of the returned traces that have spans must be summarized, and those that are left joined.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function joinAtOnce(
  deps: { clickhouse: ClickHouse; logger: Logger },
  { projectId, workspaceId }: { projectId: string; workspaceId: string },
  traceIds: readonly string[],
  time: JoinTime,
): Promise<AtOnce> {
  const beginMs = performance.now();
  if (beginMs < (rests.get(workspaceId) ?? 0)) return { lacking: [], unseen: [...traceIds] };
  const leftMs = time.get(workspaceId) ?? joinHere.msMax;
  try {
    return await joinUntil(deps, projectId, traceIds, beginMs + leftMs);
  } finally {
    const endMs = performance.now();
    const leftAfterMs = leftMs - (endMs - beginMs);
    time.set(workspaceId, leftAfterMs);
    const overMs = joinHere.msMax - leftAfterMs - tooLongMs;
    if (overMs > 0) rests.set(workspaceId, endMs + Math.min(overMs * restPerMs, restMsMax));
  }
}

async function joinUntil(
  { clickhouse, logger }: { clickhouse: ClickHouse; logger: Logger },
  projectId: string,
  traceIds: readonly string[],
  endMs: number,
): Promise<AtOnce> {
  const { spans: unjoined, large } = await findUnjoined(clickhouse, projectId, traceIds, {
    joinedToo: false,
    endMs,
    settings: countSettings,
  });
  const lacking = [...new Set(unjoined.map(({ traceId }) => traceId))];
  const first = new Set(lacking.slice(0, atOnceMax));
  try {
    const spans = unjoined.filter(({ traceId }) => first.has(traceId));
    await joinSpans({ clickhouse, projectId, costOf: storedCost, ...joinHere, ...newLeft(joinHere), endMs }, spans);
  } catch (error) {
    logger.warn({ err: error, project_id: projectId }, 'log records could not be joined at once');
  }
  return { lacking, unseen: large };
}

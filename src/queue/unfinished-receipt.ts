import type { Queue } from 'bullmq';
import { mapInSlices } from '../lib/pace.ts';
import type { Redis } from '../stores/redis/client.ts';
import { type IngestBodyPayload, ingestBodyPayload } from './job-catalog.ts';

/** If a list has more unfinished bodies than this, they are not examined. */
const jobsMax = 5_000;

/** The unfinished bodies of all workspaces, as of a moment. */
export interface UnfinishedBodies {
  /**
   * Returns when the oldest unfinished body of each of the workspaces was received, in milliseconds since the epoch.
   * A workspace that has none is absent.
   */
  oldestOf(workspaceIds: readonly string[]): ReadonlyMap<string, number>;
}

/**
 * Examines the unfinished bodies; undefined when there are too many. The lists are read in one transaction, so a job
 * that changes its state is not missed.
 */
export async function examineUnfinished(redis: Redis, queues: readonly Queue[]): Promise<UnfinishedBodies | undefined> {
  const receipts = new Map<string, number>();
  for (const queue of queues) {
    const ids = await unfinishedIds(redis, queue);
    if (ids === undefined) return undefined;
    for (const payload of await payloadsOf(redis, queue, ids)) {
      if (payload === undefined) continue;
      const { workspaceId, receivedAtMs } = payload;
      receipts.set(workspaceId, Math.min(receipts.get(workspaceId) ?? receivedAtMs, receivedAtMs));
    }
  }
  return { oldestOf: (workspaceIds) => new Map(workspaceIds.flatMap((id) => entryOf(id, receipts))) };
}

/** A job of an older version does not name its workspace, so it counts for each. */
function entryOf(workspaceId: string, receipts: ReadonlyMap<string, number>): [string, number][] {
  const receivedAtMs = Math.min(receipts.get(workspaceId) ?? Infinity, receipts.get('') ?? Infinity);
  return receivedAtMs === Infinity ? [] : [[workspaceId, receivedAtMs]];
}

async function unfinishedIds(redis: Redis, queue: Queue): Promise<string[] | undefined> {
  const lists = ['wait', 'paused', 'active'].map((state) => queue.toKey(state));
  const sets = ['delayed', 'prioritized'].map((state) => queue.toKey(state));
  const transaction = redis.multi();
  for (const key of lists) transaction.lrange(key, 0, jobsMax);
  for (const key of sets) transaction.zrange(key, 0, String(jobsMax));
  const results = (await transaction.exec()) ?? [];
  const ids = results.flatMap(([error, value]) => {
    if (error !== null) throw error;
    return value as string[];
  });
  return ids.length > jobsMax ? undefined : ids;
}

async function payloadsOf(
  redis: Redis,
  queue: Queue,
  ids: readonly string[],
): Promise<(IngestBodyPayload | undefined)[]> {
  if (ids.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hget(queue.toKey(id), 'data');
  const results = (await pipeline.exec()) ?? [];
  return mapInSlices(results, ([error, data]) => {
    if (error !== null) throw error;
    // A job without data has ended meanwhile. A job that cannot be parsed is skipped.
    if (data === null) return undefined;
    return ingestBodyPayload.safeParse(JSON.parse(String(data))).data;
  });
}

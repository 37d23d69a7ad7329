import type { Queue } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { type IngestBodyPayload, ingestBodyPayload } from './job-catalog.ts';

/** If a list has more unfinished bodies than this, they are not examined. */
const jobsMax = 5_000;

/**
 * Returns when the oldest unfinished body was received, of one workspace or of all, in milliseconds since the epoch;
 * Infinity when all are done, undefined when there are too many to examine. The lists are read in one
 * transaction, so a job that changes its state is not missed.
 */
export async function unfinishedReceiptAtMs(
  redis: Redis,
  queues: readonly Queue[],
  workspaceId?: string,
): Promise<number | undefined> {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const queue of queues) {
    const ids = await unfinishedIds(redis, queue);
    if (ids === undefined) return undefined;
    for (const payload of await payloadsOf(redis, queue, ids)) {
      if (workspaceId === undefined || payload.workspaceId === workspaceId)
        firstMs = Math.min(firstMs, payload.receivedAtMs);
    }
  }
  return firstMs;
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

async function payloadsOf(redis: Redis, queue: Queue, ids: readonly string[]): Promise<IngestBodyPayload[]> {
  if (ids.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hget(queue.toKey(id), 'data');
  const results = (await pipeline.exec()) ?? [];
  return results.flatMap(([error, data]) => {
    if (error !== null) throw error;
    // A job without data has ended meanwhile. A job that cannot be parsed is skipped.
    if (data === null) return [];
    const payload = ingestBodyPayload.safeParse(JSON.parse(String(data)));
    return payload.success ? [payload.data] : [];
  });
}

import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { ingestBodyPayload } from './job-catalog.ts';

/** More unfinished bodies than this are not looked through. */
const jobsMax = 5_000;

/**
 * When the body that was received first of all unfinished ones came, in milliseconds since the epoch; Infinity when all are done,
 * undefined when there are too many to tell. A job that moves between states meanwhile is seen: they are read at one instant.
 */
export async function unfinishedReceiptAtMs(redis: Redis, queues: readonly Queue[]): Promise<number | undefined> {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const queue of queues) {
    const ids = await unfinishedIds(redis, queue);
    if (ids === undefined) return undefined;
    for (const atMs of await receiptsOf(redis, queue, ids)) firstMs = Math.min(firstMs, atMs);
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

async function receiptsOf(redis: Redis, queue: Queue, ids: readonly string[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hget(queue.toKey(id), 'data');
  const results = (await pipeline.exec()) ?? [];
  return results.flatMap(([error, data]) => {
    if (error !== null) throw error;
    // Without data the job has ended meanwhile; one that cannot be read has not been received in time.
    if (data === null) return [];
    const payload = ingestBodyPayload.safeParse(JSON.parse(String(data)));
    return payload.success ? [payload.data.receivedAtMs] : [];
  });
}

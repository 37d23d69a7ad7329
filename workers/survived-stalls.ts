import type { Redis } from '../src/stores/redis/client.ts';
import { survivedStallsKey } from '../src/stores/redis/names.ts';

/** Longer than a body is tried between two stalls. */
const keptS = 60 * 60;

/**
 * Notes that this worker lives although it has lost the locks of these bodies, because it, Redis or the machine paused.
 * Otherwise a body that was in progress in two pauses would count as one that has ended two workers.
 */
export async function noteSurvivedStalls(redis: Redis, jobIds: readonly string[]): Promise<void> {
  const pipeline = redis.pipeline();
  for (const key of jobIds.map(survivedStallsKey)) pipeline.incr(key).expire(key, keptS);
  await pipeline.exec();
}

/** Returns how many of the stalls of a body its worker has survived. */
export async function survivedStallsOf(redis: Redis, jobId: string): Promise<number> {
  return Number((await redis.get(survivedStallsKey(jobId))) ?? 0);
}

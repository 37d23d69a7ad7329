import type { Redis } from '../stores/redis/client.ts';

const keptS = 24 * 60 * 60;

/**
 * Counts a failed try of a job under `key`, for a day. The counter of the job itself also counts tries during an outage.
 * Resolves to the number of tries.
 * @throws the error of Redis
 */
export async function countTry(redis: Redis, key: string): Promise<number> {
  const tries = await redis.incr(key);
  await redis.expire(key, keptS);
  return tries;
}

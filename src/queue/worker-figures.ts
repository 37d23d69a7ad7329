import type { Redis } from 'ioredis';
import { z } from 'zod';

/** What workers tell the API about themselves. No tenant's data, so the key has no tenant. */
const key = 'promptlane:worker-figures';
const freshMs = 10_000;

const figures = z.object({
  atMs: z.number(),
  /** From receipt of a body to its spans being readable. */
  freshnessP95Ms: z.number().nullable(),
  storedSpans: z.number(),
});

export type WorkerFigures = z.infer<typeof figures> & { workerId: string };

/** `workerId` begins with the host's name and a colon. */
export async function writeWorkerFigures(redis: Redis, { workerId, ...values }: WorkerFigures): Promise<void> {
  await redis.hset(key, workerId, JSON.stringify(values));
}

export async function removeWorkerFigures(redis: Redis, workerId: string): Promise<void> {
  await redis.hdel(key, workerId);
}

/** Of the workers that spoke within the last ten seconds; those that fell silent long ago are forgotten. */
export async function readWorkerFigures(redis: Redis): Promise<WorkerFigures[]> {
  const all = await redis.hgetall(key);
  const fresh: WorkerFigures[] = [];
  for (const [workerId, text] of Object.entries(all)) {
    const parsed = figures.safeParse(JSON.parse(text));
    if (parsed.success && Date.now() - parsed.data.atMs < freshMs) fresh.push({ workerId, ...parsed.data });
    else await redis.hdel(key, workerId);
  }
  return fresh;
}

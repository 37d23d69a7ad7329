import type { Redis } from 'ioredis';
import { z } from 'zod';

/** What workers tell the API about themselves. No tenant's data, so the key has no tenant. */
const key = 'promptlane:worker-figures';
/** A worker writes every second; one that has not for so long is dead, frozen or cut off. */
const freshMs = 5_000;
/** Those of a worker that fell silent long ago are forgotten. */
const forgottenMs = 60_000;

const figures = z.object({
  /** By the clock of Redis. */
  atMs: z.number(),
  /** From receipt of a body to its spans being readable. */
  freshnessP95Ms: z.number().nullable(),
  storedSpans: z.number(),
  /** Since when it has had bodies under way without ending one; null while it has none. */
  busySinceMs: z.number().nullable().default(null),
});

export type WorkerFigures = z.infer<typeof figures> & { workerId: string };

/** `workerId` begins with the host's name and a colon. */
export async function writeWorkerFigures(redis: Redis, { workerId, ...values }: WorkerFigures): Promise<void> {
  await redis.hset(key, workerId, JSON.stringify(values));
}

export async function removeWorkerFigures(redis: Redis, workerId: string): Promise<void> {
  await redis.hdel(key, workerId);
}

/** Of the workers that spoke within the last five seconds. `nowMs` is by the clock of Redis, as what they write. */
export async function readWorkerFigures(redis: Redis, nowMs: number): Promise<WorkerFigures[]> {
  const all = await redis.hgetall(key);
  const fresh: WorkerFigures[] = [];
  for (const [workerId, text] of Object.entries(all)) {
    const parsed = figures.safeParse(JSON.parse(text));
    const ageMs = parsed.success ? nowMs - parsed.data.atMs : Number.POSITIVE_INFINITY;
    if (parsed.success && ageMs < freshMs) fresh.push({ workerId, ...parsed.data });
    if (ageMs > forgottenMs) await redis.hdel(key, workerId);
  }
  return fresh;
}

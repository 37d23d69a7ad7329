import { z } from 'zod';
import type { Redis } from '../stores/redis/client.ts';
import { workerFiguresKey } from '../stores/redis/names.ts';

/**
 * A worker reports every second. One that is silent for this long is dead, frozen or disconnected.
 */
const freshMs = 5_000;
/** The figures of a worker that is silent for this long are deleted. */
const forgottenMs = 60_000;

const figures = z.object({
  /** Time by the clock of Redis. */
  atMs: z.number(),
  /** From the receipt of a body until its spans are readable. */
  freshnessP95Ms: z.number().nullable(),
  storedSpans: z.number(),
  /**
   * Since when the worker has had bodies in progress without finishing one; null while it has none.
   */
  busySinceMs: z.number().nullable().default(null),
});

export type WorkerFigures = z.infer<typeof figures> & { workerId: string };

/** Writes the figures of a worker. `workerId` begins with the host name and a colon. */
export async function writeWorkerFigures(redis: Redis, { workerId, ...values }: WorkerFigures): Promise<void> {
  await redis.hset(workerFiguresKey, workerId, JSON.stringify(values));
}

/** Deletes the figures of a worker. */
export async function removeWorkerFigures(redis: Redis, workerId: string): Promise<void> {
  await redis.hdel(workerFiguresKey, workerId);
}

/**
 * Reads the figures of workers that reported within the last 5 s. `nowMs` is by the clock of Redis,
 * as are the figures.
 */
export async function readWorkerFigures(redis: Redis, nowMs: number): Promise<WorkerFigures[]> {
  const all = await redis.hgetall(workerFiguresKey);
  const fresh: WorkerFigures[] = [];
  for (const [workerId, text] of Object.entries(all)) {
    const parsed = figures.safeParse(JSON.parse(text));
    const ageMs = parsed.success ? nowMs - parsed.data.atMs : Number.POSITIVE_INFINITY;
    if (parsed.success && ageMs < freshMs) fresh.push({ workerId, ...parsed.data });
    if (ageMs > forgottenMs) await redis.hdel(workerFiguresKey, workerId);
  }
  return fresh;
}

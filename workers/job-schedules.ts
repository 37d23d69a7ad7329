import { setTimeout as sleep } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { connectQueue } from '../src/queue/connect-queue.ts';
import { type JobName, jobCatalog } from '../src/queue/job-catalog.ts';
import type { Redis } from '../src/stores/redis/client.ts';
import { isOutOfMemory, type MemoryReserve } from './memory-reserve.ts';

/**
 * BullMQ retries immediately after an error, so a worker pauses this long when Redis is out of memory.
 */
export const outOfMemoryRestMs = 500;
/** How long repeated jobs may be missing after Redis has lost its data. */
const restoreEveryMs = 3_000;

export interface SchedulesDeps {
  redis: Redis;
  reserve: Pick<MemoryReserve, 'release'>;
  stopping: AbortSignal;
}

interface Repeated {
  name: JobName;
  everyMs: number;
  queue: Queue;
  opts: { attempts: number; removeOnComplete: boolean; removeOnFail: { count: number } };
}

/**
 * Schedules the repeated jobs of the catalog. If Redis loses its data, they are scheduled again. Waits
 * while Redis is out of memory.
 */
export async function startSchedules(deps: SchedulesDeps): Promise<{ stop(): void }> {
  const repeated = Object.entries(jobCatalog).flatMap(([name, job]): Repeated[] => {
    if (!('everyMs' in job)) return [];
    const { attempts, removeOnComplete, everyMs } = job;
    const opts = { attempts, removeOnComplete, removeOnFail: { count: 10 } };
    return [{ name: name as JobName, everyMs, queue: connectQueue(job.queue, deps.redis), opts }];
  });
  await Promise.all(repeated.map((job) => schedule(job, deps)));
  let isRestoring = false;
  const timer = setInterval(async () => {
    if (isRestoring) return;
    isRestoring = true;
    await restore(repeated, deps);
    isRestoring = false;
  }, restoreEveryMs);
  return { stop: () => clearInterval(timer) };
}

/** Never rejects: the connection logs errors of Redis, and the next look is soon. */
async function restore(repeated: readonly Repeated[], deps: SchedulesDeps): Promise<void> {
  for (const job of repeated) {
    const known = await job.queue.getJobScheduler(job.name).catch(() => null);
    if (known === undefined) await schedule(job, deps).catch(() => undefined);
  }
}

/**
 * Creates or updates the scheduler of a repeated job. Waits while Redis is out of memory. Throws any
 * other error.
 */
async function schedule({ name, everyMs, queue, opts }: Repeated, deps: SchedulesDeps): Promise<void> {
  for (;;) {
    try {
      await queue.upsertJobScheduler(name, { every: everyMs }, { name, data: {}, opts });
      return;
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
    }
    await deps.reserve.release();
    await sleep(outOfMemoryRestMs, undefined, { signal: deps.stopping });
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { connectQueue } from '../src/queue/connect-queue.ts';
import { type JobName, jobCatalog } from '../src/queue/job-catalog.ts';
import type { Redis } from '../src/stores/redis/client.ts';
import { isOutOfMemory, type MemoryReserve } from './memory-reserve.ts';
import type { QuietLog } from './quiet-log.ts';

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
  /** Whether this process has scheduled it. */
  isScheduled: boolean;
}

/**
 * Schedules the repeated jobs of the catalog in the background, because this waits while Redis is unavailable or out of
 * memory. If Redis loses its data, they are scheduled again.
 */
export function startSchedules(deps: SchedulesDeps, log: QuietLog): { stop(): void } {
  const repeated = Object.entries(jobCatalog).flatMap(([name, job]): Repeated[] => {
    if (!('everyMs' in job)) return [];
    const { attempts, removeOnComplete, everyMs } = job;
    const opts = { attempts, removeOnComplete, removeOnFail: { count: 10 } };
    const queue = connectQueue(job.queue, deps.redis);
    return [{ name: name as JobName, everyMs, queue, opts, isScheduled: false }];
  });
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    await Promise.all(repeated.map((job) => keepScheduled(job, deps, log)));
    isLooking = false;
  };
  void look();
  const timer = setInterval(look, restoreEveryMs);
  return { stop: () => clearInterval(timer) };
}

/** Never rejects, because the next look is soon. */
async function keepScheduled(job: Repeated, deps: SchedulesDeps, log: QuietLog): Promise<void> {
  try {
    if (job.isScheduled && (await job.queue.getJobScheduler(job.name)) !== undefined) return;
    await schedule(job, deps);
    job.isScheduled = true;
  } catch (error) {
    if (!deps.stopping.aborted) log.warn('schedule', { err: error, job: job.name }, 'a repeated job is not scheduled');
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

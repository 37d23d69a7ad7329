import type { Queue, Worker } from 'bullmq';
import type { Redis } from '../src/stores/redis/client.ts';
import { survivedStallsKey } from '../src/stores/redis/names.ts';

/** Longer than a body is tried between two stalls. */
const keptS = 60 * 60;
/** Further ones count as crashes: a body could make its worker pause before it ends it, each time. */
const survivedMax = 10;

/**
 * Restores the priority of jobs that a dead worker left behind. BullMQ puts stalled jobs before all
 * jobs with a priority, so those of a busy workspace would run before those of others. A job that
 * is running again keeps its place.
 */
export function keepOrderOfStalled(worker: Worker, queue: Queue): void {
  worker.on('stalled', (jobId) => {
    // The job then runs first. Others run later, but no job is lost.
    giveBackPlace(queue, jobId).catch(() => undefined);
  });
}

/** Restores the place that a job's priority gives it. Throws what Redis throws. */
export async function giveBackPlace(queue: Queue, jobId: string): Promise<void> {
  const job = await queue.getJob(jobId);
  const priority = Number(job?.priority ?? 0);
  if (priority > 0) await job?.changePriority({ priority });
}

/**
 * Notes that this worker lives although it has lost the locks of these bodies, because it, Redis or the machine paused.
 * Otherwise a body that was in progress in two pauses would count as one that has ended two workers.
 */
export async function noteSurvivedStalls(redis: Redis, jobIds: readonly string[]): Promise<void> {
  const pipeline = redis.pipeline();
  for (const key of jobIds.map(survivedStallsKey)) pipeline.incr(key).expire(key, keptS);
  await pipeline.exec();
}

/** Returns how many of the stalls of a body its worker has survived, at most ten. */
export async function survivedStallsOf(redis: Redis, jobId: string): Promise<number> {
  return Math.min(survivedMax, Number((await redis.get(survivedStallsKey(jobId))) ?? 0));
}

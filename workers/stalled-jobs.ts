import type { Queue, Worker } from 'bullmq';

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

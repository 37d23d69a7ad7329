import type { Queue, Worker } from 'bullmq';

/**
 * Gives the jobs that a dead worker left behind the places they had: BullMQ puts them before all that have a priority, so those of a
 * busy workspace would go before another's. One that has begun again meanwhile is left alone.
 */
export function keepOrderOfStalled(worker: Worker, queue: Queue): void {
  worker.on('stalled', (jobId) => {
    giveBackPlace(queue, jobId).catch(() => undefined); // It then goes first, which is late for others but not lost.
  });
}

/** Throws what Redis throws. */
export async function giveBackPlace(queue: Queue, jobId: string): Promise<void> {
  const job = await queue.getJob(jobId);
  const priority = Number(job?.priority ?? 0);
  if (priority > 0) await job?.changePriority({ priority });
}

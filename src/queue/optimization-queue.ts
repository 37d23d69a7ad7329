import type { Queue } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { connectRequestQueue } from './connect-queue.ts';
import { jobCatalog, retryOptions } from './job-catalog.ts';

/** A run that needs a job. */
export interface RunToEnqueue {
  projectId: string;
  runId: string;
  /** Jobs with a lower place come first, after those of runs that have begun. From 1. */
  place: number;
  /** Attempts that workers have begun. Each attempt has a job of its own. */
  attempt: number;
}

/** The time of a run that has begun is running out, so it waits for none that has not. */
const priorityOf = ({ attempt, place }: RunToEnqueue) => (attempt > 0 ? 1 : 1 + place);

/**
 * Connects to the queue of optimization runs. The id of a job is made of the run and the attempt, so
 * an attempt gets one job, and the next one need not wait until the job of a dead worker has stalled.
 */
export function connectOptimizationQueue(redis: Redis): {
  add(runs: readonly RunToEnqueue[]): Promise<void>;
  queue: Queue;
} {
  const { queue: name, attempts } = jobCatalog.runOptimization;
  const queue = connectRequestQueue(name, redis);
  // A finished or failed job must not keep a later one of the same run away.
  const options = { attempts, ...retryOptions, removeOnComplete: true, removeOnFail: true };
  return {
    queue,
    async add(runs) {
      await queue.addBulk(
        runs.map((run) => ({
          ...{ name: 'runOptimization', data: { projectId: run.projectId, runId: run.runId } },
          opts: { ...options, jobId: `${run.runId}-${run.attempt}`, priority: priorityOf(run) },
        })),
      );
    },
  };
}

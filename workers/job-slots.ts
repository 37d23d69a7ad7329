import { DelayedError, type Job } from 'bullmq';
import { FairLane } from '../src/lib/fair-lane.ts';

const spareShare = 0.1;
const timing = { waitMs: 500, restMs: 1_000 };

/**
 * The bodies that one worker has in progress, of one lane. Shared by all workspaces: one workspace
 * has at most nine tenths of the slots. The worker takes a tenth more jobs than there are slots. A
 * job that finds no slot soon goes back to its place in the queue for a while. So the worker always
 * takes further jobs, and sees a body of another workspace that comes before the backlog of the
 * workspaces that hold the slots.
 */
export class JobSlots {
  readonly #lane: FairLane;
  readonly #restMs: number;
  /** Number of jobs that the worker must take at the same time. */
  readonly jobsMax: number;

  /**
   * @param slots bodies in progress
   * @param options.waitMs how long a job waits for a slot
   * @param options.restMs how long a job without a slot is not taken again
   */
  constructor(slots: number, { waitMs, restMs } = timing) {
    const spare = Math.ceil(slots * spareShare);
    this.jobsMax = slots + spare;
    this.#restMs = restMs;
    this.#lane = new FairLane({
      name: 'bodies in progress',
      capacity: slots,
      perKey: slots - spare,
      waitingPerKey: Number.POSITIVE_INFINITY,
      waitingMax: Number.POSITIVE_INFINITY,
      waitMsMax: waitMs,
    });
  }

  /**
   * Runs `work` in a slot. `token` is that of the lock of the job.
   * @throws DelayedError when the job found no slot and was given back; this counts as no attempt
   * @throws the error of Redis, and what `work` throws
   */
  async run<T>(job: Job<{ workspaceId?: string }>, token: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.#lane.enter(job.data.workspaceId ?? '').catch(() => undefined);
    if (leave === undefined) {
      // It keeps its priority, and so its place among the jobs that wait.
      await job.moveToDelayed(Date.now() + this.#restMs, token);
      throw new DelayedError();
    }
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

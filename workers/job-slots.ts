import { DelayedError, type Job } from 'bullmq';
import { UnavailableError } from '../src/lib/errors.ts';
import { FairLane } from '../src/lib/fair-lane.ts';
import { workspaceShare } from '../src/queue/job-catalog.ts';

/** Jobs that a worker takes beyond its slots: a tenth, and at least so many. */
const spareMin = 2;
const timing = { waitMs: 500, restMs: 1_000 };

/**
 * The bodies that one worker has in progress, of one lane. Shared by all workspaces: one workspace
 * has at most nine tenths of the slots. The worker takes a tenth more jobs than there are slots. A
 * job that waits for others of its own workspace goes back to its place in the queue for a while. So
 * the worker always takes further jobs, and sees a body of another workspace that comes before the
 * backlog of the workspaces that hold the slots. The first job of a workspace waits until a slot is free.
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
    const perWorkspace = Math.floor(slots * workspaceShare);
    this.jobsMax = slots + Math.max(spareMin, slots - perWorkspace);
    this.#restMs = restMs;
    this.#lane = new FairLane({
      name: 'bodies in progress',
      capacity: slots,
      perKey: perWorkspace,
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
    const leave = await this.#enter(job.data.workspaceId ?? '');
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

  /** Resolves to undefined when the job waits for others of its workspace. */
  async #enter(workspaceId: string): Promise<(() => void) | undefined> {
    for (;;) {
      try {
        return await this.#lane.enter(workspaceId);
      } catch (error) {
        if (!(error instanceof UnavailableError)) return undefined;
      }
    }
  }
}

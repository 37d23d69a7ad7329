import type { Job, Queue } from 'bullmq';

export interface QueueStats {
  name: string;
  waiting: number;
  active: number;
  failed: number;
  /** Age of the next job, see {@link oldestWaitingAtMs}; null when no job waits. */
  oldestAgeMs: number | null;
}

/**
 * Returns when the next job was added, in milliseconds since the epoch; undefined when no job
 * waits. The next job is the oldest, except in a lane of bodies: there a body behind the backlog of
 * its own workspace may be older (see LaneSchedule).
 */
export async function oldestWaitingAtMs(queue: Queue): Promise<number | undefined> {
  return earliest(timesOf(await Promise.all([queue.getWaiting(0, 0), queue.getPrioritized(0, 0)])));
}

/** Same as {@link oldestWaitingAtMs}, but includes the jobs that wait for a retry. */
export async function oldestUnstoredAtMs(queue: Queue): Promise<number | undefined> {
  const lists = [queue.getWaiting(0, 0), queue.getPrioritized(0, 0), queue.getDelayed(0, 0)];
  return earliest(timesOf(await Promise.all(lists)));
}

/**
 * Returns when a job was added that a worker has begun and not ended, in milliseconds since the epoch; undefined when
 * none is in progress. It is the one that has been in progress for longest.
 */
export async function oldestActiveAtMs(queue: Queue): Promise<number | undefined> {
  return earliest(timesOf([await queue.getActive(0, 0)]));
}

/** Returns the earliest time that `read` returns for any of the queues. */
export async function oldestOf(
  queues: readonly Queue[],
  read: (queue: Queue) => Promise<number | undefined>,
): Promise<number | undefined> {
  return earliest(await Promise.all(queues.map(read)));
}

function timesOf(heads: readonly (readonly Job[])[]): (number | undefined)[] {
  return heads.map(([job]) => job?.timestamp);
}

function earliest(timesMs: readonly (number | undefined)[]): number | undefined {
  const known = timesMs.filter((atMs) => atMs !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Reads the counts of a queue. Jobs that wait for a retry count as waiting. */
export async function readQueueStats(queue: Queue, nowMs = Date.now()): Promise<QueueStats> {
  const [counts, oldestAtMs] = await Promise.all([
    queue.getJobCounts('wait', 'prioritized', 'delayed', 'active', 'failed'),
    oldestWaitingAtMs(queue),
  ]);
  const { wait = 0, prioritized = 0, delayed = 0, active = 0, failed = 0 } = counts;
  return {
    name: queue.name,
    waiting: wait + prioritized + delayed,
    active,
    failed,
    oldestAgeMs: oldestAtMs === undefined ? null : Math.max(0, nowMs - oldestAtMs),
  };
}

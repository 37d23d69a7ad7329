import type { Job, Queue } from 'bullmq';

export interface QueueStats {
  name: string;
  waiting: number;
  active: number;
  failed: number;
  /** Age of the job that is next, see {@link oldestWaitingAtMs}; null when none waits. */
  oldestAgeMs: number | null;
}

/**
 * When the job that is next was added, in milliseconds since the epoch; undefined when none waits. No other waits longer but in a
 * lane of bodies, where one behind its own workspace's backlog may be older, by 300 s at most (see LaneSchedule).
 */
export async function oldestWaitingAtMs(queue: Queue): Promise<number | undefined> {
  return earliest(timesOf(await Promise.all([queue.getWaiting(0, 0), queue.getPrioritized(0, 0)])));
}

/** The same, with those that wait to be tried again. */
export async function oldestUnstoredAtMs(queue: Queue): Promise<number | undefined> {
  const lists = [queue.getWaiting(0, 0), queue.getPrioritized(0, 0), queue.getDelayed(0, 0)];
  return earliest(timesOf(await Promise.all(lists)));
}

/** The first of what `read` says about each queue. */
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

/** Jobs that wait for another try count as waiting. */
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

import type { Queue } from 'bullmq';

export interface QueueStats {
  name: string;
  waiting: number;
  active: number;
  failed: number;
  /** Age of the job that waits longest; null when none waits. */
  oldestAgeMs: number | null;
}

/** When the job that waits longest was added, in milliseconds since the epoch; undefined when none waits. */
export async function oldestWaitingAtMs(queue: Queue): Promise<number | undefined> {
  const [oldest] = await queue.getWaiting(0, 0);
  return oldest?.timestamp;
}

/** Jobs that wait for another try count as waiting. */
export async function readQueueStats(queue: Queue): Promise<QueueStats> {
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
    oldestAgeMs: oldestAtMs === undefined ? null : Math.max(0, Date.now() - oldestAtMs),
  };
}

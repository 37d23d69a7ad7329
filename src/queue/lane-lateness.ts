import type { Job, Queue } from 'bullmq';
import { oldestOf } from './queue-stats.ts';

/**
 * Creates a function that returns since when the workers leave one of the lanes waiting, in milliseconds since the epoch;
 * undefined when no body waits. It throws the error of Redis. The time is the receipt of the next body, if its workspace
 * had no backlog before it. Others do not wait for the backlog of one workspace, however slowly it is served. So if the
 * next body is of one, only a lane that stands still is late: the time is since when this process has seen the same body
 * there.
 */
export function createLateness(lanes: readonly Queue[], nowMs: () => number): () => Promise<number | undefined> {
  const heads = new Map<string, { id: string; sinceMs: number }>();
  async function waitingSinceMs(lane: Queue): Promise<number | undefined> {
    const [[waiting], [prioritized]] = await Promise.all([lane.getWaiting(0, 0), lane.getPrioritized(0, 0)]);
    const next: Job | undefined = waiting ?? prioritized;
    const before = heads.get(lane.name);
    const id = String(next?.id);
    const head = before?.id === id ? before : { id, sinceMs: nowMs() };
    heads.set(lane.name, head);
    // A job of an older version does not tell the backlog before it.
    if (Object(next?.data).delayS === 0) return next?.timestamp;
    return next && head.sinceMs;
  }

  return () => oldestOf(lanes, waitingSinceMs);
}

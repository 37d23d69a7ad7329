import type { Queue } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { Concern } from '../telemetry/health.ts';
import { oldestActiveAtMs, oldestOf, oldestUnstoredAtMs } from './queue-stats.ts';
import type { RedisClock } from './redis-clock.ts';
import { oldestDueSummaryAtMs } from './summary-list.ts';
import { readWorkerFigures } from './worker-figures.ts';

/** Bodies are stored within a second when the workers keep up. */
const lateMsMax = 5_000;
/**
 * Longer than the largest body takes alone. With the age of the figures and of the cached answer, a
 * stuck worker is reported within ten seconds.
 */
const stuckMsMax = 7_000;
const clockMsMax = 30_000;
/** A turn of two other workspaces ends within seconds, and then it is the turn of the next. */
const summaryLateMsMax = 15_000;

export interface QueueHealthDeps {
  redis: Redis;
  clock: RedisClock;
  /** The queues that bodies wait in: the lanes, and the queue of those that are tried alone. */
  queues: readonly Queue[];
  /** Returns why bodies are refused, or undefined while they are accepted. */
  refusal: () => string | undefined;
}

/**
 * Returns the worst problem between the receipt of a body and its executions in lists, or undefined. The text
 * is public, so it contains no ids and no addresses.
 * @throws the error of Redis
 */
export async function queueConcern(deps: QueueHealthDeps): Promise<Concern | undefined> {
  const refusal = deps.refusal();
  if (refusal !== undefined) return new Concern('down', `does not accept spans: ${refusal}`);
  const nowMs = deps.clock.nowMs();
  const [figures, oldestAtMs, oldestBegunAtMs, summaryDueAtMs] = await Promise.all([
    readWorkerFigures(deps.redis, nowMs),
    oldestOf(deps.queues, oldestUnstoredAtMs),
    oldestOf(deps.queues, oldestActiveAtMs),
    oldestDueSummaryAtMs(deps.redis),
  ]);
  if (figures.length === 0) return degraded('accepts spans but does not store them: no worker has reported for 5 s');
  const busySinceMs = figures.flatMap(({ busySinceMs }) => busySinceMs ?? []);
  const stuckMs = nowMs - Math.min(nowMs, ...busySinceMs);
  if (stuckMs > stuckMsMax) {
    return degraded(
      `accepts spans but does not store them: a worker has processed bodies for ${seconds(stuckMs)} and finished none`,
    );
  }
  const lateMs = nowMs - (oldestAtMs ?? nowMs);
  if (lateMs > lateMsMax) return degraded(`stores spans late: a body has waited for ${seconds(lateMs)}`);
  const begunLateMs = nowMs - (oldestBegunAtMs ?? nowMs);
  if (begunLateMs > stuckMsMax) {
    return degraded(`stores spans late: a body that was received ${seconds(begunLateMs)} ago is still being stored`);
  }
  const summaryLateMs = nowMs - (summaryDueAtMs ?? nowMs);
  if (summaryLateMs > summaryLateMsMax) {
    return degraded(`lists executions late: one has waited for ${seconds(summaryLateMs)}`);
  }
  const aheadMs = deps.clock.hostAheadMs();
  if (Math.abs(aheadMs) > clockMsMax) {
    return degraded(`the clock of this host is ${seconds(aheadMs)} ahead of that of Redis`);
  }
  return undefined;
}

function degraded(reason: string): Concern {
  return new Concern('degraded', reason);
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}

import { UnrecoverableError } from 'bullmq';
import { AppError } from '../../lib/errors.ts';
import type { IdentityEvent } from '../../queue/identity-event.ts';
import { countIdentityEvent } from '../../queue/identity-event-counts.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { safeMessage } from '../../telemetry/safe-error.ts';
import { type ApplyIdentityEventDeps, applyIdentityEvent } from './apply-identity-event.ts';

export interface ApplyOrGiveUpDeps extends ApplyIdentityEventDeps {
  redis: Redis;
}

/** With the backoff of jobs these take about two minutes, in which what is no fault of the event has passed. */
export const triesMax = 10;
const triesKeptS = 24 * 60 * 60;

/**
 * Applies the event and counts what became of it. While the database is away it is tried for ever; an event that fails otherwise is
 * given up after ten such tries, with its reason, and waits among the failed ones. Throws UnrecoverableError then.
 */
export async function applyOrGiveUp(
  deps: ApplyOrGiveUpDeps,
  { id }: { id: string },
  event: IdentityEvent,
): Promise<string> {
  try {
    const outcome = await applyIdentityEvent(deps, event);
    // A duplicate was counted when it was applied.
    if (outcome !== 'duplicate') await countIdentityEvent(deps.redis, event.provider, outcome);
    return outcome;
  } catch (error) {
    if (error instanceof AppError) throw error;
    if ((await countTry(deps.redis, id)) < triesMax) throw error;
    await deps.redis.del(triesKey(id));
    await countIdentityEvent(deps.redis, event.provider, 'failed');
    throw new UnrecoverableError(safeMessage(error instanceof Error ? error : new Error(String(error))));
  }
}

/** Apart from the job's own count, which goes up in an outage too. */
async function countTry(redis: Redis, jobId: string): Promise<number> {
  const tries = await redis.incr(triesKey(jobId));
  await redis.expire(triesKey(jobId), triesKeptS);
  return tries;
}

/** Where the tries of a job are counted. */
export const triesKey = (jobId: string) => `promptlane:identity-event-tries:${jobId}`;

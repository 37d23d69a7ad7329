import { UnrecoverableError } from 'bullmq';
import { AppError, StatementTooSlowError } from '../../lib/errors.ts';
import { countTry } from '../../queue/count-try.ts';
import type { IdentityEvent } from '../../queue/identity-event.ts';
import { countIdentityEvent } from '../../queue/identity-event-counts.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { identityTriesKey } from '../../stores/redis/names.ts';
import { safeMessage } from '../../telemetry/safe-error.ts';
import { type ApplyIdentityEventDeps, applyIdentityEvent } from './apply-identity-event.ts';

export interface ApplyOrGiveUpDeps extends ApplyIdentityEventDeps {
  redis: Redis;
}

/**
 * With the backoff of jobs these attempts take about two minutes. Problems that the event did not
 * cause end within this time.
 */
export const triesMax = 10;

/**
 * Applies the event and counts its outcome. Retries without end while the database is unavailable.
 * After ten other failures, such as a statement that takes too long, it gives up: the event stays in the list of failed events with its
 * reason.
 * @throws UnrecoverableError when it gives up; before that, the error of the attempt
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
    if (error instanceof AppError && !(error instanceof StatementTooSlowError)) throw error;
    if ((await countTry(deps.redis, identityTriesKey(id))) < triesMax) throw error;
    await deps.redis.del(identityTriesKey(id));
    await countIdentityEvent(deps.redis, event.provider, 'failed');
    throw new UnrecoverableError(safeMessage(error instanceof Error ? error : new Error(String(error))));
  }
}

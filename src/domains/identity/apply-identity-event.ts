import type { IdentityEvent } from '../../queue/identity-event.ts';
import { sourceTime } from '../../queue/identity-event.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { PlanName } from '../workspaces/index.ts';
import { applyChange } from './apply-change.ts';
import { type IdentityOutcome, insertIdentityEvent, markOutdated } from './identity-event-store.ts';

export interface ApplyIdentityEventDeps {
  postgres: Postgres;
  /** Plan of the new workspace of an organization. */
  defaultPlan: PlanName;
}

/**
 * Applies an event once. One transaction stores the effect and the record of the event. The final
 * state does not depend on the order or repetition of events.
 * @throws UnavailableError when the database is unavailable
 */
export async function applyIdentityEvent(
  { postgres, defaultPlan }: ApplyIdentityEventDeps,
  event: IdentityEvent,
): Promise<IdentityOutcome | 'duplicate'> {
  return inTransaction(postgres, async (transaction) => {
    if (!(await insertIdentityEvent(transaction, event))) return 'duplicate';
    const actor = { type: 'identity_provider', id: event.provider, requestId: null } as const;
    const at = sourceTime(event.occurredAtMs, event.change.verb);
    const context = { transaction, actor, eventId: event.eventId, plan: defaultPlan, at };
    const news = await applyChange(context, event.change);
    if (!news) await markOutdated(transaction, event);
    return news ? 'applied' : 'outdated';
  });
}

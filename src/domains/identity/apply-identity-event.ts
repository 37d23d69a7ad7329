import type { IdentityEvent } from '../../queue/identity-event.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { PlanName } from '../workspaces/index.ts';
import { applyChange } from './apply-change.ts';
import { type IdentityOutcome, insertIdentityEvent, markOutdated } from './identity-event-store.ts';
import { sourceTime } from './source-time.ts';

export interface ApplyIdentityEventDeps {
  postgres: Postgres;
  /** Of an organisation's new workspace. */
  defaultPlan: PlanName;
}

/**
 * Applies an event once, in one transaction with the note that it was applied. Any order and any repetition of events ends in the same
 * state. Throws UnavailableError when the database is away.
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

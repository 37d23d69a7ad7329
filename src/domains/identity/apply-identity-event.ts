import type { UserId, WorkspaceId } from '../../lib/ids.ts';
import type { IdentityEvent } from '../../queue/identity-event.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { runPostgres } from '../../stores/postgres/errors.ts';
import type { PlanName } from '../workspaces/index.ts';
import { applyChange } from './apply-change.ts';
import { findTouched, type IdentityOutcome, insertIdentityEvent, markOutdated } from './identity-event-store.ts';
import { sourceTime } from './source-time.ts';

export interface ApplyIdentityEventDeps {
  postgres: Postgres;
  /** Of an organisation's new workspace. */
  defaultPlan: PlanName;
}

/** Whose cached records no longer hold. Also what an event that was applied before touched, for it may not have been told. */
export interface AppliedIdentityEvent {
  outcome: IdentityOutcome | 'duplicate';
  users: readonly UserId[];
  workspaces: readonly WorkspaceId[];
}

/**
 * Applies an event once, in one transaction with the note that it was applied. Any order and any repetition of events ends in the same
 * state. Throws UnavailableError when the database is away.
 */
export async function applyIdentityEvent(
  { postgres, defaultPlan }: ApplyIdentityEventDeps,
  event: IdentityEvent,
): Promise<AppliedIdentityEvent> {
  return runPostgres(() =>
    postgres.transaction(async (transaction) => {
      if (!(await insertIdentityEvent(transaction, event))) {
        return { outcome: 'duplicate', ...(await findTouched(transaction, event.change)) };
      }
      const actor = { type: 'identity_provider', id: event.provider, requestId: null } as const;
      const at = sourceTime(event.occurredAtMs, event.change.verb);
      const context = { transaction, actor, eventId: event.eventId, plan: defaultPlan, at };
      const { news, ...touched } = await applyChange(context, event.change);
      if (!news) await markOutdated(transaction, event);
      return { outcome: news ? 'applied' : 'outdated', ...touched };
    }),
  );
}

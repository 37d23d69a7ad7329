import type { UserId, WorkspaceId } from '../../lib/ids.ts';
import type { IdentityChange, IdentityEvent, IdentityProviderName } from '../../queue/identity-event.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { runPostgres } from '../../stores/postgres/errors.ts';

/** What became of an event: it told something new, or something older than what was known. */
export type IdentityOutcome = 'applied' | 'outdated';

export async function hasIdentityEvent(
  postgres: Postgres,
  provider: IdentityProviderName,
  eventId: string,
): Promise<boolean> {
  const row = await runPostgres(() =>
    postgres('identity_events')
      .where({ provider, event_id: eventId })
      .first<{ event_id: string } | undefined>('event_id'),
  );
  return row !== undefined;
}

/**
 * Takes an event into the transaction of its effect; false when it has been applied before. Another transaction with the same event
 * waits here until this one has ended.
 */
export async function insertIdentityEvent(transaction: Postgres, event: IdentityEvent): Promise<boolean> {
  const rows = await transaction('identity_events')
    .insert({
      provider: event.provider,
      event_id: event.eventId,
      type: event.type,
      occurred_at: new Date(event.occurredAtMs),
      outcome: 'applied' satisfies IdentityOutcome,
    })
    .onConflict(['provider', 'event_id'])
    .ignore()
    .returning('event_id');
  return rows.length === 1;
}

export async function markOutdated(transaction: Postgres, event: IdentityEvent): Promise<void> {
  await transaction('identity_events')
    .where({ provider: event.provider, event_id: event.eventId })
    .update({ outcome: 'outdated' satisfies IdentityOutcome });
}

/** The user and the workspace that a change is about, as far as they are there. */
export async function findTouched(
  transaction: Postgres,
  change: IdentityChange,
): Promise<{ users: UserId[]; workspaces: WorkspaceId[] }> {
  const subject = 'subject' in change ? change.subject : null;
  const organizationId = 'organizationId' in change ? change.organizationId : null;
  const users = await transaction('users').where({ subject }).select<{ id: UserId }[]>('id');
  const workspaces = await transaction('workspaces')
    .where({ external_org_id: organizationId })
    .whereNotNull('external_org_id')
    .select<{ id: WorkspaceId }[]>('id');
  return { users: users.map(({ id }) => id), workspaces: workspaces.map(({ id }) => id) };
}

/** Forgets events received before `before`; returns how many. Providers try for three days at most. */
export async function deleteIdentityEvents(postgres: Postgres, before: Date): Promise<number> {
  return runPostgres(() => postgres('identity_events').where('received_at', '<', before).delete());
}

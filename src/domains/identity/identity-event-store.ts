import type { IdentityEvent, IdentityProviderName } from '../../queue/identity-event.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { deleteInSlices } from '../../stores/postgres/delete-in-slices.ts';

const prunedAtOnce = 10_000;

/**
 * Outcome of an event: `applied` when it brought newer data, `outdated` when newer data was already
 * known.
 */
export type IdentityOutcome = 'applied' | 'outdated';

/**
 * Returns whether the event was applied before.
 * @throws UnavailableError when the database is unavailable
 */
export async function hasIdentityEvent(
  postgres: Postgres,
  provider: IdentityProviderName,
  eventId: string,
): Promise<boolean> {
  const row = await postgres('identity_events')
    .where({ provider, event_id: eventId })
    .first<{ event_id: string } | undefined>('event_id');
  return row !== undefined;
}

/**
 * Inserts the event in the transaction of its effect. Returns false when it was applied before.
 * Another transaction with the same event waits here until this one ends.
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

/** Records that newer data was already known when the event was applied. */
export async function markOutdated(transaction: Postgres, event: IdentityEvent): Promise<void> {
  await transaction('identity_events')
    .where({ provider: event.provider, event_id: event.eventId })
    .update({ outcome: 'outdated' satisfies IdentityOutcome });
}

/**
 * Deletes events received before `before` and returns their number. Providers retry for three days
 * at most.
 */
export async function deleteIdentityEvents(postgres: Postgres, before: Date): Promise<number> {
  const old = postgres('identity_events').where('received_at', '<', before).limit(prunedAtOnce).select('ctid');
  let deleted = 0;
  await deleteInSlices(prunedAtOnce, async () => {
    const slice = await postgres('identity_events').whereIn('ctid', old.clone()).delete();
    deleted += slice;
    return slice;
  });
  return deleted;
}

import type { Postgres } from '../../stores/postgres/client.ts';
import { deleteIdentityEvents } from './identity-event-store.ts';

/** Ten times as long as the most patient provider goes on delivering. */
const keptMs = 30 * 24 * 60 * 60_000;

/** Forgets the ids of events that can no longer come again; returns how many. */
export async function pruneIdentityEvents({ postgres }: { postgres: Postgres }): Promise<number> {
  return deleteIdentityEvents(postgres, new Date(Date.now() - keptMs));
}

import type { Postgres } from '../../stores/postgres/client.ts';
import { deleteIdentityEvents } from './identity-event-store.ts';

/** Ten times as long as the longest retry period of any provider. */
const keptMs = 30 * 24 * 60 * 60_000;

/** Deletes the ids of events that can no longer be delivered again. Returns their number. */
export async function pruneIdentityEvents({ postgres }: { postgres: Postgres }): Promise<number> {
  return deleteIdentityEvents(postgres, new Date(Date.now() - keptMs));
}

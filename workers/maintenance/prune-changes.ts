import { deleteChanges } from '../../src/stores/postgres/change-reader.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';

/** Longer than any transaction of ours lasts: processes read several times a second, and start over when they could not. */
const keptMs = 5 * 60_000;

/** Forgets changes that every process has read; returns how many. */
export async function pruneChanges({ postgres }: { postgres: Postgres }): Promise<number> {
  return deleteChanges(postgres, new Date(Date.now() - keptMs));
}

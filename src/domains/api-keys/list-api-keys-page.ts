import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { listApiKeys } from './api-key-store.ts';
import { apiKeyToWire } from './api-keys.schema.ts';

const position = z.tuple([z.string()]);

/**
 * Returns a page of a project's keys, newest first.
 * @throws MalformedError for a cursor of another list
 */
export async function listApiKeysPage(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  { projectId, limit, cursor }: { projectId: ProjectId; limit: number; cursor?: string | undefined },
) {
  const fingerprint = fingerprintOf({ list: 'api-keys', projectId });
  const [beforeId] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const rows = await listApiKeys(postgres, { projectId, beforeId, limit: limit + 1 });
  return toPage(rows, limit, apiKeyToWire, ({ id }) => encodeCursor(cursorSecret, fingerprint, [id]));
}

import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item } from '../versioned/index.ts';
import { findPartUsers } from './part-usage-store.ts';
import { partUserToWire } from './parts.schema.ts';

const position = z.tuple([z.string(), z.string(), z.int()]);

/**
 * Returns one page of the versions of live prompts and parts that include a part, directly or
 * through other parts.
 */
export async function listPartUsagePage(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  part: Item,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
) {
  const fingerprint = fingerprintOf({ list: 'part-usage', of: part.id });
  const after = cursor === undefined ? undefined : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const users = await findPartUsers(postgres, part.projectId, part.id, { after, limit: limit + 1 });
  return toPage(users, limit, partUserToWire, ({ type, id, version }) =>
    encodeCursor(cursorSecret, fingerprint, [type, id, version]),
  );
}

import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { listWebhooks } from './webhook-store.ts';
import { webhookToWire } from './webhooks.schema.ts';

const position = z.tuple([z.string()]);

/**
 * Returns a page of a project's webhooks, newest first.
 * @throws MalformedError for a cursor of another list
 */
export async function listWebhooksPage(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  { projectId, limit, cursor }: { projectId: ProjectId; limit: number; cursor?: string | undefined },
) {
  const fingerprint = fingerprintOf({ list: 'webhooks', projectId });
  const [beforeId] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const rows = await listWebhooks(postgres, { projectId, beforeId, limit: limit + 1 });
  return toPage(rows, limit, webhookToWire, ({ id }) => encodeCursor(cursorSecret, fingerprint, [id]));
}

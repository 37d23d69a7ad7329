import { ConflictError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { recordEvent } from '../events/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { unknownWebhook, type Webhook } from './webhook.ts';
import { lockWebhook } from './webhook-store.ts';

/**
 * Sends a test event to one webhook. Returns the id of the event.
 * @throws NotFoundError, ConflictError `webhook_disabled`
 */
export async function testWebhook(
  { postgres }: { postgres: Postgres },
  { project: { projectId, workspaceId }, id }: { project: ProjectScope; id: string },
): Promise<string> {
  return inTransaction(postgres, async (transaction) => {
    const webhook = requireEnabled(await lockWebhook(transaction, projectId, id), id);
    const data = { project_id: projectId, webhook_id: webhook.id };
    return recordEvent(transaction, { workspaceId, projectId, type: 'webhook.test', data });
  });
}

/**
 * Returns the webhook if it exists and is enabled.
 * @throws NotFoundError, ConflictError `webhook_disabled`
 */
export function requireEnabled(webhook: Webhook | undefined, id: string): Webhook {
  if (webhook === undefined) throw unknownWebhook(id);
  if (webhook.enabled) return webhook;
  throw new ConflictError('webhook_disabled', `The webhook ${id} is disabled. Enable it first.`);
}

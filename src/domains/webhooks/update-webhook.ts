import { type IfMatch, requireMatch } from '../../http/etag.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { AuditActor } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { auditWebhook } from './audit-webhook.ts';
import type { WebhookDeps } from './create-webhook.ts';
import { makeDue } from './delivery-queue-store.ts';
import { requireTarget } from './require-target.ts';
import { unknownWebhook, type Webhook, webhookTag } from './webhook.ts';
import { changeWebhook, deleteWebhookRow, lockWebhook } from './webhook-store.ts';

export interface OneWebhook {
  project: ProjectScope;
  id: string;
  actor: AuditActor;
}

interface Change extends OneWebhook {
  ifMatch: IfMatch | undefined;
}

/** Undefined fields stay. */
export type WebhookChanges = {
  readonly [K in 'url' | 'description' | 'events' | 'enabled']: Webhook[K] | undefined;
};

/**
 * Changes a webhook. A new URL or enabling it makes pending deliveries due: those that come first, at most 5,000.
 * @throws NotFoundError, PreconditionFailedError, InvalidError for a URL that is not allowed
 */
export async function updateWebhook(
  { postgres, policy }: Pick<WebhookDeps, 'postgres' | 'policy'>,
  { project, id, actor, ifMatch, changes }: Change & { changes: WebhookChanges },
): Promise<Webhook> {
  if (changes.url !== undefined) requireTarget(changes.url, policy);
  return inTransaction(postgres, async (transaction) => {
    const before = await lockWebhook(transaction, project.projectId, id);
    if (before === undefined) throw unknownWebhook(id);
    requireMatch(ifMatch, webhookTag(before));
    const { url, enabled } = changes;
    const restarts = (url !== undefined && url !== before.url) || (enabled === true && !before.enabled);
    const after = await changeWebhook(transaction, before, changes, { restarts });
    if (restarts) await makeDue(transaction, after);
    const did = before.enabled && !after.enabled ? 'disabled' : 'updated';
    const details = { events: after.events, enabled: after.enabled, url_changed: after.url !== before.url };
    await auditWebhook(transaction, after, { actor, did, details });
    return after;
  });
}

/**
 * Deletes a webhook with its deliveries; if it has very many, within the next hours. An attempt in progress may still arrive.
 * @throws NotFoundError, PreconditionFailedError
 */
export async function deleteWebhook(
  { postgres }: Pick<WebhookDeps, 'postgres'>,
  { project, id, actor, ifMatch }: Change,
): Promise<void> {
  await inTransaction(postgres, async (transaction) => {
    const webhook = await lockWebhook(transaction, project.projectId, id);
    if (webhook === undefined) throw unknownWebhook(id);
    requireMatch(ifMatch, webhookTag(webhook));
    await deleteWebhookRow(transaction, webhook);
    await auditWebhook(transaction, webhook, { actor, did: 'deleted' });
  });
}

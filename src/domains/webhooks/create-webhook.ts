import { ConflictError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { newWebhookSecret, sealingKeyOf, sealSecret } from '../../lib/webhook-secret.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { AuditActor } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { auditWebhook } from './audit-webhook.ts';
import { requireTarget } from './require-target.ts';
import type { TargetPolicy } from './target.ts';
import { type Webhook, webhooksMax } from './webhook.ts';
import { sealingContext } from './webhook-lane.ts';
import { insertWebhook, lockWebhookCounts } from './webhook-store.ts';

export interface WebhookDeps {
  postgres: Postgres;
  apiKeyPepper: string;
  policy: TargetPolicy;
}

export interface CreateWebhookInput extends Pick<Webhook, 'url' | 'description' | 'events' | 'enabled'> {
  project: ProjectScope;
  actor: AuditActor;
}

/**
 * Creates a webhook. The secret is not readable afterwards.
 * @throws InvalidError for a URL that is not allowed, ConflictError `too_many_webhooks`
 */
export async function createWebhook(
  { postgres, apiKeyPepper, policy }: WebhookDeps,
  { project, actor, ...given }: CreateWebhookInput,
): Promise<{ webhook: Webhook; secret: string }> {
  requireTarget(given.url, policy);
  const { projectId, workspaceId } = project;
  const id = newId('whk');
  const secret = newWebhookSecret();
  const sealed = sealSecret(sealingKeyOf(apiKeyPepper), sealingContext(projectId, id), secret);
  return inTransaction(postgres, async (transaction) => {
    const counts = await lockWebhookCounts(transaction, project);
    if (counts.ofProject >= webhooksMax.perProject) throw tooMany('project', webhooksMax.perProject);
    if (counts.ofWorkspace >= webhooksMax.perWorkspace) throw tooMany('workspace', webhooksMax.perWorkspace);
    const webhook = await insertWebhook(transaction, { ...given, id, projectId, workspaceId }, sealed);
    await auditWebhook(transaction, webhook, { actor, did: 'created', details: { events: webhook.events } });
    return { webhook, secret };
  });
}

function tooMany(of: 'project' | 'workspace', limit: number): ConflictError {
  const detail = `The ${of} has ${limit} webhooks, which is the limit. Delete one or change its events.`;
  return new ConflictError('too_many_webhooks', detail, { extra: { limit } });
}

import type { Postgres } from '../../stores/postgres/client.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { Webhook } from './webhook.ts';

/** Records what a caller did. Only the host of the URL is recorded, because the rest may be secret. */
export function auditWebhook(
  transaction: Postgres,
  { id, workspaceId, projectId, url }: Webhook,
  { actor, did, details }: { actor: AuditActor; did: string; details?: Readonly<Record<string, unknown>> },
): Promise<void> {
  return recordAudit(transaction, {
    workspaceId,
    projectId,
    actor,
    action: `webhook.${did}`,
    targetType: 'webhook',
    targetId: id,
    details: { host: new URL(url).host, ...details },
  });
}

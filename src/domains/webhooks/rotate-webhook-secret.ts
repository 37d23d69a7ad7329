import { newWebhookSecret, sealingKeyOf, sealSecret } from '../../lib/webhook-secret.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { auditWebhook } from './audit-webhook.ts';
import type { WebhookDeps } from './create-webhook.ts';
import type { OneWebhook } from './update-webhook.ts';
import { unknownWebhook } from './webhook.ts';
import { sealingContext } from './webhook-lane.ts';
import { lockWebhook, replaceSecret } from './webhook-store.ts';

/**
 * Gives a webhook a new secret. The old one signs as well for `overlapS` seconds; one that was
 * rotated before that signs no more.
 * @throws NotFoundError
 */
export async function rotateWebhookSecret(
  { postgres, apiKeyPepper }: Pick<WebhookDeps, 'postgres' | 'apiKeyPepper'>,
  { project, id, actor, overlapS }: OneWebhook & { overlapS: number },
): Promise<{ secret: string; previousSecretUntil: Date | null }> {
  const secret = newWebhookSecret();
  const sealed = sealSecret(sealingKeyOf(apiKeyPepper), sealingContext(project.projectId, id), secret);
  return inTransaction(postgres, async (transaction) => {
    const webhook = await lockWebhook(transaction, project.projectId, id);
    if (webhook === undefined) throw unknownWebhook(id);
    const until = overlapS === 0 ? null : new Date(Date.now() + overlapS * 1_000);
    await replaceSecret(transaction, webhook, { secret: sealed, until });
    await auditWebhook(transaction, webhook, { actor, did: 'secret_rotated', details: { overlap_s: overlapS } });
    return { secret, previousSecretUntil: until };
  });
}

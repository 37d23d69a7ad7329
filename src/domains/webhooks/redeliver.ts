import { ConflictError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { AuditActor } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { auditWebhook } from './audit-webhook.ts';
import { type Delivery, unknownDelivery } from './delivery.ts';
import { findDelivery, insertRedelivery } from './delivery-log-store.ts';
import { webhookTimes } from './judge-attempt.ts';
import { requireEnabled } from './test-webhook.ts';
import { lockWebhook } from './webhook-store.ts';

/**
 * Sends an event to a webhook again, with the same `webhook-id` and body. Returns the new delivery.
 * @throws NotFoundError, ConflictError `webhook_disabled`, or `delivery_pending` while the event is being sent
 */
export async function redeliver(
  { postgres }: { postgres: Postgres },
  input: { project: ProjectScope; webhookId: string; deliveryId: string; actor: AuditActor },
): Promise<Delivery> {
  const { project, webhookId, deliveryId, actor } = input;
  return inTransaction(postgres, async (transaction) => {
    const webhook = requireEnabled(await lockWebhook(transaction, project.projectId, webhookId), webhookId);
    const first = await findDelivery(transaction, webhook, deliveryId);
    if (first === undefined) throw unknownDelivery(deliveryId);
    const { eventId } = first;
    const id = newId('dlv');
    const { windowMs } = webhookTimes;
    if (!(await insertRedelivery(transaction, webhook, { id, of: deliveryId, eventId, windowMs }))) {
      throw new ConflictError('delivery_pending', `The event ${eventId} is still being sent to the webhook.`);
    }
    await auditWebhook(transaction, webhook, { actor, did: 'redelivered', details: { event_id: eventId } });
    const again = await findDelivery(transaction, webhook, id);
    if (again === undefined) throw new Error('The new delivery is missing');
    return again;
  });
}

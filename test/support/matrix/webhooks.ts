import { newId } from '../../../src/lib/ids.ts';
import type { ProjectOfTest, TestApi } from '../api.ts';

/**
 * Inserts a webhook with a delivery that has failed. It is disabled, so that no worker changes anything of
 * it. The limit of a project does not apply.
 */
export async function insertWebhook(api: TestApi, project: ProjectOfTest, text: string) {
  const [webhookId, eventId, deliveryId] = [newId('whk'), newId('evt'), newId('dlv')];
  const owner = { workspace_id: project.workspaceId, project_id: project.id };
  const now = new Date();
  await api.postgres('webhooks').insert({
    ...{ ...owner, id: webhookId, url: `https://example.com/${text}`, description: text, enabled: false },
    ...{ events: ['prompt.deleted'], secret: Buffer.from(text) },
  });
  await api.postgres('events').insert({
    ...{ ...owner, id: eventId, type: 'webhook.test', fanned_out_at: now },
    data: JSON.stringify({ project_id: project.id, webhook_id: webhookId, name: text }),
  });
  await api.postgres('webhook_deliveries').insert({
    ...{ ...owner, id: deliveryId, webhook_id: webhookId, event_id: eventId, status: 'failed', attempts: 1 },
    ...{ next_attempt_at: now, expires_at: now, finished_at: now },
  });
  await api.postgres('webhook_attempts').insert({
    ...{ delivery_id: deliveryId, number: 1, project_id: project.id, url: `https://example.com/${text}` },
    ...{ started_at: now, duration_ms: 1, response_status: 500, response_body: text, error: text },
  });
  return { webhookId, deliveryId };
}

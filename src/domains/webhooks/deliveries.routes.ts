import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import {
  deliveriesQuery,
  deliveryDetailSchema,
  deliveryDetailToWire,
  deliveryParams,
  deliverySchema,
  deliveryToWire,
} from './deliveries.schema.ts';
import { type DeliveryStatus, unknownDelivery } from './delivery.ts';
import { findDelivery, listDeliveries } from './delivery-log-store.ts';
import { redeliver } from './redeliver.ts';
import { unknownWebhook, type Webhook } from './webhook.ts';
import { findWebhook } from './webhook-store.ts';
import { webhookParams } from './webhooks.schema.ts';

export interface DeliveriesDeps {
  postgres: Postgres;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();
const reading = { tag: 'webhooks', method: 'GET', access: { scope: 'budgets:read' }, rateClass: 'read' } as const;
const path = '/api/projects/{project_id}/webhooks/{webhook_id}/deliveries';
const problems = ['project_not_found', 'webhook_not_found'] as const;

/** Creates the endpoints of the delivery log. */
export function deliveriesEndpoints(deps: DeliveriesDeps) {
  return [
    endpoint({
      ...reading,
      operationId: 'listWebhookDeliveries',
      path,
      summary: 'List the deliveries of a webhook, newest first',
      description: 'Deliveries are kept for 30 days.',
      params: webhookParams,
      query: deliveriesQuery,
      responses: { 200: { description: 'A page of deliveries', schema: listOf(deliverySchema) } },
      problems: [...problems, 'invalid_cursor', 'cursor_mismatch'],
      handle: async ({ principal, params, query }) => {
        const webhook = await readWebhook(deps, projectOf(principal).projectId, params.webhook_id);
        return { status: 200, body: await listPage(deps, webhook, query) };
      },
    }),
    endpoint({
      ...reading,
      operationId: 'getWebhookDelivery',
      path: `${path}/{delivery_id}`,
      summary: 'Get a delivery with its request and all attempts',
      params: deliveryParams,
      responses: { 200: { description: 'The delivery', schema: deliveryDetailSchema } },
      problems: [...problems, 'delivery_not_found'],
      handle: async ({ principal, params }) => {
        const webhook = await readWebhook(deps, projectOf(principal).projectId, params.webhook_id);
        const delivery = await findDelivery(deps.postgres, webhook, params.delivery_id);
        if (delivery === undefined) throw unknownDelivery(params.delivery_id);
        return { status: 200, body: deliveryDetailToWire(delivery) };
      },
    }),
    endpoint({
      tag: 'webhooks',
      access: { scope: 'budgets:write' },
      rateClass: 'write',
      operationId: 'redeliverWebhookDelivery',
      method: 'POST',
      path: `${path}/{delivery_id}/redeliver`,
      summary: 'Send the event of a delivery again',
      description: 'This creates another delivery with the same event id and body, which is tried for 24 hours.',
      params: deliveryParams,
      responses: { 202: { description: 'The new delivery', schema: deliverySchema } },
      problems: [...problems, 'delivery_not_found', 'delivery_pending', 'webhook_disabled'],
      handle: async ({ principal, params, requestId }) => {
        const { webhook_id: webhookId, delivery_id: deliveryId } = params;
        const actor = auditActorOf(principal, requestId);
        const created = await redeliver(deps, { project: projectOf(principal), webhookId, deliveryId, actor });
        return { status: 202, body: deliveryToWire(created) };
      },
    }),
  ];
}

async function readWebhook({ postgres }: DeliveriesDeps, projectId: ProjectId, id: string): Promise<Webhook> {
  const webhook = await findWebhook(postgres, projectId, id);
  if (webhook === undefined) throw unknownWebhook(id);
  return webhook;
}

const position = z.tuple([z.string()]);

async function listPage(
  { postgres, cursorSecret }: DeliveriesDeps,
  { id: webhookId, projectId }: Webhook,
  { limit, cursor, status }: { limit: number; cursor?: string | undefined; status?: DeliveryStatus | undefined },
) {
  const filters = { projectId, webhookId, status };
  const fingerprint = fingerprintOf({ list: 'webhook-deliveries', ...filters });
  const [beforeId] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const rows = await listDeliveries(postgres, filters, { beforeId, limit: limit + 1 });
  return toPage(rows, limit, deliveryToWire, ({ id }) => encodeCursor(cursorSecret, fingerprint, [id]));
}

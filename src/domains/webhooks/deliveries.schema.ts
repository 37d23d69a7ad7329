import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import { type Attempt, type Delivery, type DeliveryDetail, deliveryStatuses } from './delivery.ts';
import { webhookBody, webhookHeaders } from './webhook-lane.ts';
import { webhookParams } from './webhooks.schema.ts';

export const deliveryParams = webhookParams.extend({ delivery_id: z.string().min(1).max(64) });

export const deliveriesQuery = z.strictObject({
  ...pageParams,
  status: z.enum(deliveryStatuses).optional().meta({ description: 'Only deliveries with this status' }),
});

const time = z.iso.datetime();
const outcome = {
  response_status: z.int().nullable().meta({ description: 'Null when there was no response', example: 200 }),
  error: z.string().nullable().meta({ example: 'The receiver responded with 500' }),
};

const common = {
  id: z.string().meta({ example: 'dlv_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  event_id: z.string().meta({
    description: 'The `webhook-id` of all requests',
    example: 'evt_01k0w2n3t4v5x6y7z8a9b0c1d2',
  }),
  event_type: z.string().meta({ example: 'prompt.version_created' }),
  redelivery_of: z.string().nullable(),
  status: z.enum(deliveryStatuses),
  attempt_count: z.int(),
  created_at: time,
  next_attempt_at: time.nullable().meta({ description: 'Null when the delivery has ended' }),
  expires_at: time.meta({ description: 'When a pending delivery fails' }),
  finished_at: time.nullable(),
  ...outcome,
};

export const deliverySchema = z.object(common).meta({ id: 'WebhookDelivery' });

const attemptSchema = z
  .object({
    number: z.int(),
    url: z.string(),
    started_at: time,
    duration_ms: z.int(),
    ...outcome,
    response_body: z.string().nullable().meta({ description: 'The first 4 KiB' }),
  })
  .meta({ id: 'WebhookAttempt' });

export const deliveryDetailSchema = z
  .object({
    ...common,
    request: z.object({
      url: z.string(),
      headers: z
        .record(z.string(), z.string())
        .meta({ description: 'The headers of the last attempt, without the signature and the version of the sender' }),
      body: z.string(),
    }),
    response_body: z.string().nullable().meta({ description: 'The first 4 KiB of the last response' }),
    attempts: z.array(attemptSchema),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

/** Converts a delivery to its API form. */
export function deliveryToWire(delivery: Delivery): z.infer<typeof deliverySchema> {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    redelivery_of: delivery.redeliveryOf,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    created_at: delivery.createdAt.toISOString(),
    next_attempt_at: delivery.status === 'pending' ? delivery.nextAttemptAt.toISOString() : null,
    expires_at: delivery.expiresAt.toISOString(),
    finished_at: delivery.finishedAt?.toISOString() ?? null,
    response_status: delivery.responseStatus,
    error: delivery.error,
  };
}

/** Converts a delivery with its attempts to its API form. */
export function deliveryDetailToWire(delivery: DeliveryDetail): z.infer<typeof deliveryDetailSchema> {
  const { eventId, eventType, event, attempts } = delivery;
  const last = attempts.at(-1);
  return {
    ...deliveryToWire(delivery),
    request: {
      url: last?.url ?? delivery.url,
      headers: webhookHeaders(eventId, last?.startedAt ?? delivery.createdAt),
      body: webhookBody({ type: eventType, data: event.data, occurred_at: event.occurredAt }),
    },
    response_body: last?.responseBody ?? null,
    attempts: attempts.map(attemptToWire),
  };
}

function attemptToWire(attempt: Attempt): z.infer<typeof attemptSchema> {
  return {
    number: attempt.number,
    url: attempt.url,
    started_at: attempt.startedAt.toISOString(),
    duration_ms: attempt.durationMs,
    response_status: attempt.responseStatus,
    error: attempt.error,
    response_body: attempt.responseBody,
  };
}

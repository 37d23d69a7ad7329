import { NotFoundError } from '../../lib/errors.ts';
import type { EventType } from '../events/index.ts';

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One event for one webhook, with the outcome of its last attempt. */
export interface Delivery {
  id: string;
  eventId: string;
  eventType: EventType;
  redeliveryOf: string | null;
  status: DeliveryStatus;
  attemptCount: number;
  createdAt: Date;
  nextAttemptAt: Date;
  expiresAt: Date;
  finishedAt: Date | null;
  responseStatus: number | null;
  error: string | null;
}

/** One request of a delivery. */
export interface Attempt {
  number: number;
  url: string;
  startedAt: Date;
  durationMs: number;
  responseStatus: number | null;
  responseBody: string | null;
  error: string | null;
}

export interface DeliveryDetail extends Delivery {
  event: { data: unknown; occurredAt: Date };
  /** The URL of the webhook now. */
  url: string;
  /** In order. */
  attempts: readonly Attempt[];
}

/** Creates the error for an unknown delivery. A delivery of another webhook gets the same error. */
export function unknownDelivery(id: string): NotFoundError {
  return new NotFoundError(
    'delivery_not_found',
    `This webhook has no delivery ${JSON.stringify(id.slice(0, 80))}. Deliveries are kept for 30 days.`,
  );
}

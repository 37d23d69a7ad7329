import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { EventType } from '../events/index.ts';
import type { Attempt, Delivery, DeliveryDetail, DeliveryStatus } from './delivery.ts';
import type { Webhook } from './webhook.ts';

interface Row {
  id: string;
  event_id: string;
  type: EventType;
  redelivery_of: string | null;
  status: DeliveryStatus;
  attempts: number;
  created_at: Date;
  next_attempt_at: Date;
  expires_at: Date;
  finished_at: Date | null;
  response_status: number | null;
  error: string | null;
}

/** Attempts of one delivery. In 24 hours there are about 20. */
const attemptsMax = 100;

const columns = [
  ...['d.id', 'd.event_id', 'events.type', 'd.redelivery_of', 'd.status', 'd.attempts', 'd.created_at'],
  ...['d.next_attempt_at', 'd.expires_at', 'd.finished_at', 'latest.response_status', 'latest.error'],
];

const deliveriesOf = (postgres: Postgres, projectId: ProjectId, webhookId: string) =>
  postgres('webhook_deliveries as d')
    .where({ 'd.project_id': projectId, 'd.webhook_id': webhookId })
    .join('events', 'events.id', 'd.event_id')
    .joinRaw(
      `left join lateral (select response_status, error from webhook_attempts where delivery_id = d.id
        order by number desc limit 1) as latest on true`,
    );

/** Lists the deliveries of a webhook, newest first. */
export async function listDeliveries(
  postgres: Postgres,
  { projectId, webhookId, status }: { projectId: ProjectId; webhookId: string; status: DeliveryStatus | undefined },
  { beforeId, limit }: { beforeId: string | undefined; limit: number },
): Promise<Delivery[]> {
  const query = deliveriesOf(postgres, projectId, webhookId).orderBy('d.id', 'desc').limit(limit);
  if (status !== undefined) query.where('d.status', status);
  if (beforeId !== undefined) query.where('d.id', '<', beforeId);
  return (await query.select<Row[]>(columns)).map(toDelivery);
}

/** Finds a delivery with its attempts. */
export async function findDelivery(
  postgres: Postgres,
  { id: webhookId, projectId, url }: Webhook,
  id: string,
): Promise<DeliveryDetail | undefined> {
  const row = await deliveriesOf(postgres, projectId, webhookId)
    .where('d.id', id)
    .first<(Row & { data: unknown; occurred_at: Date }) | undefined>(
      ...columns,
      'events.data',
      'events.created_at as occurred_at',
    );
  if (row === undefined) return undefined;
  const attempts = await postgres('webhook_attempts')
    .where({ project_id: projectId, delivery_id: id })
    .orderBy('number')
    .limit(attemptsMax)
    .select<AttemptRow[]>(
      ...['number', 'url', 'started_at', 'duration_ms', 'response_status', 'response_body', 'error'],
    );
  const event = { data: row.data, occurredAt: row.occurred_at };
  return { ...toDelivery(row), event, url, attempts: attempts.map(toAttempt) };
}

/**
 * Stores a delivery of an event that was delivered before. Returns false while another delivery of
 * the event to the webhook is pending. The caller holds the lock of the webhook.
 */
export async function insertRedelivery(
  transaction: Postgres,
  { id: webhookId, projectId, workspaceId }: Webhook,
  { id, of, eventId, windowMs }: { id: string; of: string; eventId: string; windowMs: number },
): Promise<boolean> {
  const owner = { project_id: projectId, webhook_id: webhookId, event_id: eventId };
  const pending = await transaction('webhook_deliveries')
    .where({ ...owner, status: 'pending' })
    .first<{ id: string } | undefined>('id');
  if (pending !== undefined) return false;
  await transaction('webhook_deliveries').insert({
    ...owner,
    id,
    workspace_id: workspaceId,
    redelivery_of: of,
    next_attempt_at: transaction.fn.now(),
    expires_at: transaction.raw("now() + ? * interval '1 millisecond'", [windowMs]),
  });
  return true;
}

interface AttemptRow {
  number: number;
  url: string;
  started_at: Date;
  duration_ms: number;
  response_status: number | null;
  response_body: string | null;
  error: string | null;
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    number: row.number,
    url: row.url,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    responseStatus: row.response_status,
    responseBody: row.response_body,
    error: row.error,
  };
}

function toDelivery(row: Row): Delivery {
  return {
    id: row.id,
    eventId: row.event_id,
    eventType: row.type,
    redeliveryOf: row.redelivery_of,
    status: row.status,
    attemptCount: row.attempts,
    createdAt: row.created_at,
    nextAttemptAt: row.next_attempt_at,
    expiresAt: row.expires_at,
    finishedAt: row.finished_at,
    responseStatus: row.response_status,
    error: row.error,
  };
}

import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams, toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor } from '../../lib/cursor.ts';
import { NotFoundError } from '../../lib/errors.ts';
import type { FailedIdentityEvent, IdentityEventPublisher } from '../../queue/identity-event-publisher.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { recordAudit } from '../audit/index.ts';
import { auditActorOf, type Principal } from '../auth/index.ts';

export interface FailedEventsDeps {
  postgres: Postgres;
  identityEvents: Pick<IdentityEventPublisher, 'listFailed' | 'retryFailed'>;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();

const failedEventSchema = z
  .object({
    id: z.string(),
    provider: z.string(),
    event_id: z.string(),
    type: z.string(),
    occurred_at: z.iso.datetime(),
    reason: z.string(),
    attempts: z.int(),
    failed_at: z.iso.datetime(),
  })
  .meta({ id: 'FailedIdentityEvent' });

const common = { tag: 'identity', access: { admin: true } } as const;
const list = 'failed-identity-events';
const position = z.tuple([z.int(), z.string()]);

/**
 * Creates the operator endpoints that list events which could not be applied, with their reasons,
 * and retry them.
 */
export function failedEventsEndpoints({ postgres, identityEvents, cursorSecret }: FailedEventsDeps) {
  return [
    endpoint({
      ...common,
      operationId: 'listFailedIdentityEvents',
      method: 'GET',
      path: '/api/identity-events/failed',
      summary: 'List events of identity providers that could not be applied, latest first',
      rateClass: 'read',
      query: z.strictObject(pageParams),
      responses: {
        200: { description: 'A page of the failed events, without their content', schema: listOf(failedEventSchema) },
      },
      problems: ['invalid_cursor', 'cursor_mismatch', 'queue_unavailable'],
      handle: async ({ query: { limit, cursor } }) => {
        const after = cursor === undefined ? undefined : decodeCursor(cursorSecret, list, cursor, position);
        const failed = await identityEvents.listFailed();
        const rest = after === undefined ? failed : failed.filter((event) => comesAfter(event, after));
        const body = toPage(rest, limit, toWire, ({ failedAtMs, jobId }) =>
          encodeCursor(cursorSecret, list, [failedAtMs, jobId]),
        );
        return { status: 200, body };
      },
    }),
    endpoint({
      ...common,
      operationId: 'retryFailedIdentityEvent',
      method: 'POST',
      path: '/api/identity-events/failed/{failed_event_id}/retry',
      summary: 'Retry a failed event of an identity provider',
      rateClass: 'write',
      params: z.strictObject({
        failed_event_id: z
          .string()
          .min(1)
          .max(100)
          .meta({ description: 'The `id` of the event in the list of failed events' }),
      }),
      responses: { 202: { description: 'The event is queued', schema: z.object({ id: z.string() }) } },
      problems: ['not_found', 'queue_unavailable'],
      handle: async ({ params: { failed_event_id: id }, principal, requestId }) => {
        const actor = auditActorOf(principal, requestId);
        await inTransaction(postgres, async (transaction) => {
          const target = { targetType: 'identity_event', targetId: id };
          await recordAudit(transaction, { workspaceId: null, actor, action: 'identity_event.retried', ...target });
          if (await identityEvents.retryFailed(id)) return;
          throw new NotFoundError('not_found', 'The list of failed events does not have this event.');
        });
        return { status: 202, body: { id } };
      },
    }),
  ];
}

function comesAfter({ failedAtMs, jobId }: FailedIdentityEvent, [atMs, id]: z.infer<typeof position>): boolean {
  return failedAtMs === atMs ? jobId > id : failedAtMs < atMs;
}

function toWire({
  jobId,
  event,
  reason,
  attempts,
  failedAtMs,
}: FailedIdentityEvent): z.infer<typeof failedEventSchema> {
  return {
    id: jobId,
    provider: event.provider,
    event_id: event.eventId,
    type: event.type,
    occurred_at: new Date(event.occurredAtMs).toISOString(),
    reason,
    attempts,
    failed_at: new Date(failedAtMs).toISOString(),
  };
}

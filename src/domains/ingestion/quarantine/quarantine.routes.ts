import { z } from 'zod';
import { endpointsFor } from '../../../http/endpoint.ts';
import { listOf, pageParams, toPage } from '../../../http/pagination.ts';
import { decodeCursor, encodeCursor } from '../../../lib/cursor.ts';
import { NotFoundError } from '../../../lib/errors.ts';
import type { BodyPublisher } from '../../../queue/body-publisher.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { auditActorOf, type Principal } from '../../auth/index.ts';
import { auditQuarantine } from './audit-quarantine.ts';
import { findQuarantinedBody, listQuarantinedBodies, type QuarantinedBody } from './quarantine-store.ts';
import { replayBody } from './replay-body.ts';

export interface QuarantineDeps {
  postgres: Postgres;
  publisher: BodyPublisher;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();

const quarantinedBodySchema = z
  .object({
    id: z.string(),
    project_id: z.string(),
    reason: z.string(),
    attempts: z.number().int(),
    content_type: z.string(),
    content_encoding: z.string(),
    body_bytes: z.number().int(),
    spans: z.number().int(),
    received_at: z.iso.datetime(),
    quarantined_at: z.iso.datetime(),
    replayed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'QuarantinedBody' });

const bodyParams = z.strictObject({ body_id: z.string().min(1).max(100) });
const common = { tag: 'quarantine', access: { admin: true } } as const;
const position = z.tuple([z.iso.datetime(), z.string()]);

/**
 * Returns the endpoints for admins: list the bodies that could not be stored, read one, replay one.
 */
export function quarantineEndpoints(deps: QuarantineDeps) {
  return [
    endpoint({
      ...common,
      operationId: 'listQuarantinedBodies',
      method: 'GET',
      path: '/api/quarantine',
      summary: 'List received bodies that could not be stored, newest first',
      rateClass: 'read',
      query: z.strictObject(pageParams),
      responses: {
        200: { description: 'A page of entries, without the bodies', schema: listOf(quarantinedBodySchema) },
      },
      handle: async ({ query }) => {
        const before = query.cursor === undefined ? undefined : readPosition(deps.cursorSecret, query.cursor);
        const rows = await listQuarantinedBodies(deps.postgres, { before, limit: query.limit + 1 });
        const body = toPage(rows, query.limit, toWire, (row) =>
          encodeCursor(deps.cursorSecret, 'quarantine', [row.quarantinedAt.toISOString(), row.jobId]),
        );
        return { status: 200, body };
      },
    }),
    endpoint({
      ...common,
      operationId: 'getQuarantinedBody',
      method: 'GET',
      path: '/api/quarantine/{body_id}',
      summary: 'Get a quarantined body as it was received',
      rateClass: 'read',
      params: bodyParams,
      responses: {
        200: {
          description: 'The bytes of the body, possibly compressed',
          contentType: 'application/octet-stream',
          example: 'bytes as they were received',
        },
      },
      problems: ['not_found'],
      handle: async ({ params, principal, requestId }) => {
        const entry = await findQuarantinedBody(deps.postgres, params.body_id);
        if (entry === undefined) throw new NotFoundError('not_found', 'The quarantine does not have this body.');
        const actor = auditActorOf(principal, requestId);
        await auditQuarantine(deps.postgres, entry, { did: 'read', actor });
        return { status: 200, content: entry.body, contentType: 'application/octet-stream' };
      },
    }),
    endpoint({
      ...common,
      operationId: 'replayQuarantinedBody',
      method: 'POST',
      path: '/api/quarantine/{body_id}/replay',
      summary: 'Queue a quarantined body again',
      rateClass: 'write',
      params: bodyParams,
      responses: { 202: { description: 'The body is queued', schema: quarantinedBodySchema } },
      problems: ['not_found', 'conflict'],
      handle: async ({ params, principal, requestId }) => {
        const replayed = await replayBody(deps, params.body_id, auditActorOf(principal, requestId));
        return { status: 202, body: toWire(replayed) };
      },
    }),
  ];
}

function readPosition(secret: string, cursor: string): { quarantinedAt: string; jobId: string } {
  const [quarantinedAt, jobId] = decodeCursor(secret, 'quarantine', cursor, position);
  return { quarantinedAt, jobId };
}

function toWire(entry: QuarantinedBody): z.infer<typeof quarantinedBodySchema> {
  return {
    id: entry.jobId,
    project_id: entry.projectId,
    reason: entry.reason,
    attempts: entry.attempts,
    content_type: entry.job.encoding === 'protobuf' ? 'application/x-protobuf' : 'application/json',
    content_encoding: entry.job.coding,
    body_bytes: entry.bodyBytes,
    spans: entry.job.spans,
    received_at: new Date(entry.job.receivedAtMs).toISOString(),
    quarantined_at: entry.quarantinedAt.toISOString(),
    replayed_at: entry.replayedAt?.toISOString() ?? null,
  };
}

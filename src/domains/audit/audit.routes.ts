import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { listOf, toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { auditQuery, auditRecordSchema, auditRecordToWire } from './audit.schema.ts';
import { listAuditRecords } from './audit-log-store.ts';

interface AuditDeps {
  postgres: Postgres;
  cursorSecret: string;
}

const common = {
  method: 'GET',
  rateClass: 'read',
  lane: 'lists',
  query: auditQuery,
  responses: { 200: { description: 'A page of the audit log', schema: listOf(auditRecordSchema) } },
} as const;

/** Creates the endpoints of the audit logs: that of a workspace, and that of the service. */
export function auditEndpoints(deps: AuditDeps) {
  return [
    endpoint({
      ...common,
      operationId: 'listAuditLog',
      path: '/api/workspaces/{workspace_id}/audit-log',
      summary: 'List the security events of a workspace, newest first',
      tag: 'workspaces',
      access: { role: 'admin' },
      params: z.strictObject({ workspace_id: z.string().min(1).max(64) }),
      problems: ['workspace_not_found', 'invalid_cursor', 'cursor_mismatch'],
      handle: async ({ params, query }) => ({ status: 200, body: await listPage(deps, params.workspace_id, query) }),
    }),
    endpoint({
      ...common,
      operationId: 'listServiceAuditLog',
      path: '/api/audit-log',
      summary: 'List the security events that belong to no workspace, such as those of users, newest first',
      tag: 'identity',
      access: { admin: true },
      problems: ['invalid_cursor', 'cursor_mismatch'],
      handle: async ({ query }) => ({ status: 200, body: await listPage(deps, null, query) }),
    }),
  ];
}

const position = z.tuple([z.string().regex(/^\d+$/), z.string()]);

async function listPage(
  { postgres, cursorSecret }: AuditDeps,
  workspaceId: string | null,
  { limit, cursor, from, to, ...rest }: z.output<typeof auditQuery>,
) {
  const [since, until] = [from, to].map((time) => (time === undefined ? undefined : new Date(time)));
  const filters = { workspaceId, ...rest, from: since, to: until };
  const fingerprint = fingerprintOf({ list: 'audit-log', ...filters });
  const [atUs, id] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const before = atUs === undefined || id === undefined ? undefined : { atUs, id };
  const rows = await listAuditRecords(postgres, filters, { before, limit: limit + 1 });
  return toPage(rows, limit, auditRecordToWire, (row) => encodeCursor(cursorSecret, fingerprint, [row.atUs, row.id]));
}

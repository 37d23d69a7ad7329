import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { listOf, toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { auditQuery, auditRecordSchema, auditRecordToWire } from './audit.schema.ts';
import { type AuditFilters, listAuditRecords } from './audit-log-store.ts';

interface AuditDeps {
  postgres: Postgres;
  cursorSecret: string;
}

/** Creates the endpoint of the audit log. */
export function auditEndpoints(deps: AuditDeps) {
  return [
    endpoint({
      operationId: 'listAuditLog',
      method: 'GET',
      path: '/api/workspaces/{workspace_id}/audit-log',
      summary: 'List the security events of a workspace, newest first',
      tag: 'workspaces',
      access: { role: 'admin' },
      rateClass: 'read',
      lane: 'lists',
      params: z.strictObject({ workspace_id: z.string().min(1).max(64) }),
      query: auditQuery,
      responses: { 200: { description: 'A page of the audit log', schema: listOf(auditRecordSchema) } },
      problems: ['workspace_not_found', 'invalid_cursor', 'cursor_mismatch'],
      handle: async ({ params, query: { limit, cursor, from, to, ...filters } }) => {
        const body = await listPage(deps, {
          limit,
          cursor,
          filters: {
            workspaceId: params.workspace_id,
            ...filters,
            from: from === undefined ? undefined : new Date(from),
            to: to === undefined ? undefined : new Date(to),
          },
        });
        return { status: 200, body };
      },
    }),
  ];
}

const position = z.tuple([z.string().regex(/^\d+$/), z.string()]);

async function listPage(
  { postgres, cursorSecret }: AuditDeps,
  { limit, cursor, filters }: { limit: number; cursor: string | undefined; filters: AuditFilters },
) {
  const fingerprint = fingerprintOf({ list: 'audit-log', ...filters });
  const [atUs, id] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const before = atUs === undefined || id === undefined ? undefined : { atUs, id };
  const rows = await listAuditRecords(postgres, filters, { before, limit: limit + 1 });
  return toPage(rows, limit, auditRecordToWire, (row) => encodeCursor(cursorSecret, fingerprint, [row.atUs, row.id]));
}

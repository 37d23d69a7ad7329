import type { Postgres } from '../../stores/postgres/client.ts';
import type { AuditActor } from './audit-actor.ts';

/** One entry of the audit log. */
export interface AuditRecord {
  id: string;
  projectId: string | null;
  actor: AuditActor;
  action: string;
  targetType: string;
  targetId: string;
  details: Readonly<Record<string, unknown>>;
  at: Date;
  /** Microseconds since the epoch, which a Date cannot hold. Page cursors use it. */
  atUs: string;
}

export interface AuditFilters {
  /** Null for the entries that belong to no workspace. */
  workspaceId: string | null;
  action?: string | undefined;
  /** An actor id or an actor type. */
  actor?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

interface Row {
  id: string;
  project_id: string | null;
  actor_type: AuditActor['type'];
  actor_id: string | null;
  action: string;
  target_type: string;
  target_id: string;
  details: Record<string, unknown>;
  request_id: string | null;
  at: Date;
  at_us: string;
}

/** Lists audit entries, newest first. */
export async function listAuditRecords(
  postgres: Postgres,
  filters: AuditFilters,
  page: { before: { atUs: string; id: string } | undefined; limit: number },
): Promise<AuditRecord[]> {
  const { workspaceId, action, actor, from, to } = filters;
  const query = postgres('audit_log');
  if (workspaceId === null) query.whereNull('workspace_id');
  else query.where({ workspace_id: workspaceId });
  if (action !== undefined) query.where({ action });
  if (actor !== undefined) query.where((either) => either.where({ actor_id: actor }).orWhere({ actor_type: actor }));
  if (from !== undefined) query.where('at', '>=', from);
  if (to !== undefined) query.where('at', '<', to);
  if (page.before !== undefined) {
    query.whereRaw("(at, id) < (timestamptz 'epoch' + ?::bigint * interval '1 microsecond', ?)", [
      page.before.atUs,
      page.before.id,
    ]);
  }
  const rows = await query
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(page.limit)
    .select<Row[]>(
      'id',
      'project_id',
      'actor_type',
      'actor_id',
      'action',
      'target_type',
      'target_id',
      'details',
      'request_id',
      'at',
      postgres.raw('(extract(epoch from at) * 1000000)::bigint::text as at_us'),
    );
  return rows.map(toRecord);
}

function toRecord(row: Row): AuditRecord {
  return {
    id: row.id,
    projectId: row.project_id,
    actor: { type: row.actor_type, id: row.actor_id, requestId: row.request_id },
    action: row.action,
    targetType: row.target_type,
    targetId: row.target_id,
    details: row.details,
    at: row.at,
    atUs: row.at_us,
  };
}

import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { AuditActor } from './audit-actor.ts';

export interface AuditEntry {
  workspaceId: string | null;
  projectId?: string;
  actor: AuditActor;
  /** What was done, as `<target>.<verb in the past>`: `project.created`. */
  action: string;
  targetType: string;
  targetId: string;
  /** Facts worth reading later, such as what a role was before. Never a secret. */
  details?: Readonly<Record<string, unknown>>;
}

/** Writes down an act that matters to security, in the transaction of the act: either both are stored or neither. */
export async function recordAudit(transaction: Postgres, entry: AuditEntry): Promise<void> {
  await transaction('audit_log').insert({
    id: newId('evt'),
    workspace_id: entry.workspaceId,
    project_id: entry.projectId ?? null,
    actor_type: entry.actor.type,
    actor_id: entry.actor.id,
    action: entry.action,
    target_type: entry.targetType,
    target_id: entry.targetId,
    details: JSON.stringify(entry.details ?? {}),
    request_id: entry.actor.requestId,
  });
}

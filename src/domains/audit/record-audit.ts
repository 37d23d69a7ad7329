import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { AuditActor } from './audit-actor.ts';

export interface AuditEntry {
  workspaceId: string | null;
  projectId?: string;
  actor: AuditActor;
  /** The action as `<target>.<past verb>`: `project.created`. */
  action: string;
  targetType: string;
  targetId: string;
  /** Details for later readers, such as the previous role. Never a secret. */
  details?: Readonly<Record<string, unknown>>;
}

/**
 * Records a security-relevant action in the transaction of the action, so that both are stored or
 * neither.
 */
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

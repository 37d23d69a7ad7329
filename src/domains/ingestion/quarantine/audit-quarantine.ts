import type { Postgres } from '../../../stores/postgres/client.ts';
import { type AuditActor, recordAudit } from '../../audit/index.ts';
import { findProjectScope } from '../../workspaces/index.ts';
import type { QuarantinedBody } from './quarantine-store.ts';

/**
 * Records in the audit log of the body's workspace that an admin has read or replayed the body.
 * Writes in the given transaction.
 */
export async function auditQuarantine(
  transaction: Postgres,
  { jobId, projectId, bodyBytes }: QuarantinedBody,
  { did, actor }: { did: 'read' | 'replayed'; actor: AuditActor },
): Promise<void> {
  const project = await findProjectScope(transaction, projectId);
  await recordAudit(transaction, {
    workspaceId: project?.workspaceId ?? null,
    ...(project && { projectId: project.projectId }),
    actor,
    action: `quarantined_body.${did}`,
    targetType: 'quarantined_body',
    targetId: jobId,
    details: { project_id: projectId, body_bytes: bodyBytes },
  });
}

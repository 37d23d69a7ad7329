import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { removeFeedback } from './feedback-store.ts';
import { unknownFeedback } from './unknown-feedback.ts';

/**
 * Deletes feedback and records this in the audit log.
 * @throws NotFoundError for unknown feedback
 * @throws UnavailableError while Postgres is unavailable
 */
export async function deleteFeedback(
  { postgres }: { postgres: Postgres },
  { project, id, actor }: { project: ProjectScope; id: string; actor: AuditActor },
): Promise<void> {
  await inTransaction(postgres, async (transaction) => {
    const removed = await removeFeedback(transaction, project.projectId, id);
    if (removed === undefined) throw unknownFeedback(id);
    await recordAudit(transaction, {
      workspaceId: project.workspaceId,
      projectId: project.projectId,
      actor,
      action: 'feedback.deleted',
      targetType: 'feedback',
      targetId: id,
      details: { target_type: removed.targetType, name: removed.name },
    });
  });
}

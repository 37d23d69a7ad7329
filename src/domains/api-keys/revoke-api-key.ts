import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { endApiKey, lockApiKey } from './api-key-store.ts';
import { unknownApiKey } from './unknown-api-key.ts';

/**
 * Revokes a key. A revoked key stays revoked.
 * @throws NotFoundError for an unknown key
 */
export async function revokeApiKey(
  deps: { postgres: Postgres; invalidations: Pick<Invalidations, 'publish'> },
  { project, id, actor }: { project: ProjectScope; id: string; actor: AuditActor },
): Promise<void> {
  await inTransaction(deps.postgres, async (transaction) => {
    const found = await lockApiKey(transaction, project.projectId, id);
    if (found === undefined) throw unknownApiKey(id);
    if (found.revokedAt !== null) return;
    await endApiKey(transaction, found, { revokedAt: new Date() });
    await recordAudit(transaction, {
      workspaceId: project.workspaceId,
      projectId: project.projectId,
      actor,
      action: 'api_key.revoked',
      targetType: 'api_key',
      targetId: id,
      details: { name: found.name },
    });
  });
  // Publish also for a key that was revoked before, because a caller repeats the request to be sure.
  await deps.invalidations.publish('api_key', [id]);
}

import { ConflictError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { type ApiKey, endOf } from './api-key.ts';
import { endApiKey, lockApiKey } from './api-key-store.ts';
import { type NewApiKey, storeNewKey } from './create-api-key.ts';
import { unknownApiKey } from './unknown-api-key.ts';

export interface RotatedApiKey extends NewApiKey {
  previous: { id: string; endsAt: Date };
}

/**
 * Creates a key with the name, scopes and expiry of an old key. The old key works for at most
 * `overlapS` more seconds; with 0 it is revoked immediately.
 * @throws NotFoundError for an unknown key
 * @throws ConflictError for a key that is revoked, expired or already rotated
 */
export async function rotateApiKey(
  deps: { postgres: Postgres; apiKeyPepper: string; invalidations: Pick<Invalidations, 'publish'> },
  { project, id, overlapS, actor }: { project: ProjectScope; id: string; overlapS: number; actor: AuditActor },
): Promise<RotatedApiKey> {
  const rotated = await inTransaction(deps.postgres, async (transaction) => {
    const old = await lockApiKey(transaction, project.projectId, id);
    if (old === undefined) throw unknownApiKey(id);
    const now = new Date();
    const ended = endOf(old, now);
    if (ended !== undefined)
      throw new ConflictError('conflict', `The API key ${id} is ${ended}. Create a new API key instead.`);
    // Its expiry is the end of the overlap, which another new key would get as well.
    if (old.replacedBy !== null)
      throw new ConflictError(
        'conflict',
        `The API key ${id} was replaced by ${old.replacedBy}. Rotate that key instead.`,
      );
    const endsAt = endAfter(old, now, overlapS);
    const created = await storeNewKey(transaction, deps.apiKeyPepper, { ...old, project });
    const end = overlapS === 0 ? { revokedAt: endsAt } : { expiresAt: endsAt };
    await endApiKey(transaction, old, end, created.apiKey.id);
    await recordAudit(transaction, {
      workspaceId: project.workspaceId,
      projectId: project.projectId,
      actor,
      action: 'api_key.rotated',
      targetType: 'api_key',
      targetId: id,
      details: { name: old.name, replaced_by: created.apiKey.id, overlap_s: overlapS },
    });
    return { ...created, previous: { id, endsAt } };
  });
  await deps.invalidations.publish('api_key', [id]);
  return rotated;
}

/** Returns when the old key ends. An overlap never extends its original expiry. */
function endAfter(old: ApiKey, now: Date, overlapS: number): Date {
  const endsAtMs = now.getTime() + overlapS * 1_000;
  return new Date(Math.min(endsAtMs, old.expiresAt?.getTime() ?? endsAtMs));
}

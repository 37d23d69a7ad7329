import { ConflictError, NotFoundError } from '../../../lib/errors.ts';
import type { BodyPublisher } from '../../../queue/body-publisher.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { inTransaction } from '../../../stores/postgres/transaction.ts';
import type { AuditActor } from '../../audit/index.ts';
import { auditQuarantine } from './audit-quarantine.ts';
import { findQuarantinedBody, markReplayed, type QuarantinedBody } from './quarantine-store.ts';

/**
 * Queues a quarantined body once more, as it was received. Its spans keep their first time of receipt, so they never hide
 * something that came later; and they were metered then. Throws NotFoundError, ConflictError while a worker has it, and UnavailableError when it could not be
 * queued.
 */
export async function replayBody(
  deps: { postgres: Postgres; publisher: BodyPublisher },
  jobId: string,
  actor: AuditActor,
): Promise<QuarantinedBody> {
  const entry = await findQuarantinedBody(deps.postgres, jobId);
  if (entry === undefined) throw new NotFoundError('not_found', 'There is no such body in the quarantine.');
  await deps.publisher.forget(jobId);
  const { duplicate } = await deps.publisher.publish(jobId, entry.body, entry.job, undefined);
  // A job that runs cannot be forgotten, so nothing was queued: noting a replay now would lose the body.
  if (duplicate) throw new ConflictError('conflict', 'A worker is busy with this body; replay it again in a moment.');
  await inTransaction(deps.postgres, async (transaction) => {
    await markReplayed(transaction, entry);
    await auditQuarantine(transaction, entry, { did: 'replayed', actor });
  });
  const { body: _, ...rest } = entry;
  return { ...rest, replayedAt: new Date() };
}

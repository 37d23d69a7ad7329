import { ConflictError, NotFoundError } from '../../../lib/errors.ts';
import type { BodyPublisher } from '../../../queue/body-publisher.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { inTransaction } from '../../../stores/postgres/transaction.ts';
import type { AuditActor } from '../../audit/index.ts';
import { auditQuarantine } from './audit-quarantine.ts';
import { findQuarantinedBody, markReplayed, type QuarantinedBody } from './quarantine-store.ts';

/**
 * Queues a quarantined body again, as it was received. Its spans keep their first time of receipt,
 * so they never replace later ones. They were metered at that time and are not metered again.
 * @throws NotFoundError when there is no such body
 * @throws ConflictError while it waits or a worker has it
 * @throws UnavailableError when it could not be queued
 */
export async function replayBody(
  deps: { postgres: Postgres; publisher: BodyPublisher },
  jobId: string,
  actor: AuditActor,
): Promise<QuarantinedBody> {
  const entry = await findQuarantinedBody(deps.postgres, jobId);
  if (entry === undefined) throw new NotFoundError('not_found', 'The quarantine does not have this body.');
  await deps.publisher.forget({ projectId: entry.job.projectId, jobId });
  const { duplicate } = await deps.publisher.publish(jobId, entry.body, entry.job, undefined);
  // A job that waits or runs cannot be forgotten, so nothing was queued. Noting a replay now would lose the
  // body.
  if (duplicate)
    throw new ConflictError('conflict', 'This body waits for a worker or is processed. Replay it again in a moment.');
  await inTransaction(deps.postgres, async (transaction) => {
    await markReplayed(transaction, entry);
    await auditQuarantine(transaction, entry, { did: 'replayed', actor });
  });
  const { body: _, ...rest } = entry;
  return { ...rest, replayedAt: new Date() };
}

import { type IfMatch, requireMatch } from '../../http/etag.ts';
import { ConflictError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import { releaseOf } from './end-run.ts';
import { finishRun } from './finish-run.ts';
import { isActive, notTerminal, partialRunTag, type Run, runTag, unknownRun } from './run.ts';
import { insertRunEvents } from './run-event-store.ts';
import { deleteRunRow, lockRun, markCancelling, type RunKey } from './run-store.ts';

interface Change {
  key: RunKey;
  actor: AuditActor;
}

/**
 * Cancels a run. One that waits ends at once; one that runs ends when its worker has stopped its
 * requests. What it has found stays.
 * @returns the run, and whether it was cancelled before
 * @throws NotFoundError `run_not_found`, ConflictError `run_not_active`
 */
export function cancelRun(postgres: Postgres, { key, actor }: Change): Promise<{ run: Run; wasCancelled: boolean }> {
  return inTransaction(postgres, async (transaction) => {
    const run = await lockRun(transaction, key);
    if (run === undefined) throw unknownRun(key.id);
    if (run.state === 'cancelled' || run.state === 'cancelling')
      return { run, wasCancelled: run.state === 'cancelled' };
    if (!isActive(run)) {
      throw new ConflictError('run_not_active', `The run ${run.id} has ended: it is ${run.state}.`);
    }
    const ref = { projectId: run.projectId, runId: run.id };
    const cancelling = await markCancelling(transaction, run);
    const cancelled = cancelling ?? (await finishRun(transaction, ref, { state: 'cancelled' }));
    if (cancelled === undefined) throw new Error(`The run ${run.id} is ${run.state} and was not cancelled`);
    if (cancelling) await insertRunEvents(transaction, ref, [{ type: 'state', data: { status: cancelling.state } }]);
    else await releaseOf(transaction, cancelled);
    await audit(transaction, run, { actor, did: 'cancelled' });
    return { run: cancelled, wasCancelled: false };
  });
}

/**
 * Deletes a run that has ended, with its rows, candidates and events.
 * @throws NotFoundError `run_not_found`, PreconditionFailedError, ConflictError `run_not_terminal`
 */
export function deleteRun(
  postgres: Postgres,
  { key, actor, ifMatch }: Change & { ifMatch: IfMatch | undefined },
): Promise<void> {
  return inTransaction(postgres, async (transaction) => {
    const run = await lockRun(transaction, key);
    if (run === undefined) throw unknownRun(key.id);
    requireMatch(ifMatch, runTag(run), [partialRunTag(run)]);
    if (isActive(run)) throw notTerminal(run);
    await deleteRunRow(transaction, run);
    await audit(transaction, run, { actor, did: 'deleted' });
  });
}

function audit(transaction: Postgres, run: Run, { actor, did }: { actor: AuditActor; did: string }): Promise<void> {
  const { workspaceId, projectId, id: targetId, promptId, state } = run;
  return recordAudit(transaction, {
    ...{ workspaceId, projectId, actor, targetType: 'optimization_run', targetId },
    ...{ action: `optimization_run.${did}`, details: { prompt_id: promptId, state } },
  });
}

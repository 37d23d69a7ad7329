import type { Postgres } from '../../stores/postgres/client.ts';
import { type Lease, underLease } from './lease.ts';
import type { Run } from './run.ts';

/** Locks a run until the transaction ends. Returns false if the lease is lost. */
export async function lockUnder(transaction: Postgres, lease: Lease): Promise<boolean> {
  const row = await transaction('optimization_runs').where(underLease(lease)).forUpdate().first('id');
  return row !== undefined;
}

/** Stores how far a run is. The caller has locked the run. */
export async function storeProgress(
  transaction: Postgres,
  lease: Lease,
  { progress, warnings, scores }: Pick<Run, 'progress' | 'warnings'> & { scores: Run['scoreHistory'] },
): Promise<void> {
  await transaction('optimization_runs')
    .where(underLease(lease))
    .update({
      progress: JSON.stringify(progress),
      warnings: JSON.stringify(warnings),
      score_history: JSON.stringify(scores),
      revision: transaction.raw('revision + 1'),
    });
}

import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { releaseReservation } from '../budgets/index.ts';
import { type Ending, finishRun } from './finish-run.ts';
import type { Lease } from './lease.ts';
import type { Run } from './run.ts';

/**
 * Ends a run that the lease has, in one transaction. A run that was to be cancelled meanwhile is
 * cancelled, and not completed. Returns undefined if the lease is lost.
 */
export function endRun(postgres: Postgres, lease: Lease, ending: Ending): Promise<Run | undefined> {
  return inTransaction(postgres, async (transaction) => {
    const ended =
      (await finishRun(transaction, lease, ending)) ?? (await finishRun(transaction, lease, { state: 'cancelled' }));
    if (ended) await releaseOf(transaction, ended);
    return ended;
  });
}

/** Ends the reservation of the project's budget for a run. */
export async function releaseOf(transaction: Postgres, { projectId, reservationId }: Run): Promise<void> {
  if (reservationId !== null) await releaseReservation({ postgres: transaction }, { projectId, id: reservationId });
}

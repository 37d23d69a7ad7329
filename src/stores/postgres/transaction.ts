import { OutcomeUnknownError, StatementTooSlowError, UnavailableError } from '../../lib/errors.ts';
import type { Postgres, Transaction } from './client.ts';
import { isRolledBack } from './errors.ts';

/** What has become of a transaction. */
export type TransactionOutcome = 'committed' | 'aborted' | 'in progress';

/**
 * Runs `work` in one transaction and resolves after the commit. An error of `work` rolls it back
 * and is rethrown. A manual transaction is not usable here: its `commit()` resolves even when the
 * commit failed (knex 3, `Transaction.query`).
 * @throws UnavailableError when the database is unavailable
 * @throws OutcomeUnknownError when the connection was lost during the commit
 */
export async function inTransaction<T>(postgres: Postgres, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  let committing: { transactionId: string | undefined } | undefined;
  try {
    return await postgres.transaction(async (transaction) => {
      const result = await work(transaction);
      committing = { transactionId: await idOf(transaction) };
      return result;
    });
  } catch (error) {
    // Postgres rolls back a commit that it stops.
    if (!committing || !(error instanceof UnavailableError) || error instanceof StatementTooSlowError) throw error;
    if (isRolledBack(error)) throw error;
    const detail =
      'The connection to the database was lost during the commit. It is not known whether the change was stored.';
    throw new OutcomeUnknownError(error.code, detail, { ...committing, cause: error.cause });
  }
}

/** Returns the id of a transaction; undefined while it has changed nothing. */
async function idOf(transaction: Transaction): Promise<string | undefined> {
  const { rows } = await transaction.raw<{ rows: { id: string | null }[] }>(
    'select pg_current_xact_id_if_assigned()::text as id',
  );
  return rows[0]?.id ?? undefined;
}

/**
 * Returns what has become of a transaction of this database.
 * @throws UnavailableError when the database is unavailable
 */
export async function outcomeOf(postgres: Postgres, transactionId: string): Promise<TransactionOutcome> {
  const { rows } = await postgres.raw<{ rows: { outcome: TransactionOutcome | null }[] }>(
    'select pg_xact_status(?::xid8) as outcome',
    [transactionId],
  );
  // Null is the answer for one that is so long ago that Postgres has forgotten it.
  return rows[0]?.outcome ?? 'committed';
}

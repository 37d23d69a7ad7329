import { OutcomeUnknownError, StatementTooSlowError, UnavailableError } from '../../lib/errors.ts';
import type { Postgres, Transaction } from './client.ts';

/**
 * Runs `work` in one transaction and resolves after the commit. An error of `work` rolls it back
 * and is rethrown. A manual transaction is not usable here: its `commit()` resolves even when the
 * commit failed (knex 3, `Transaction.query`).
 * @throws UnavailableError when the database is unavailable
 * @throws OutcomeUnknownError when the connection was lost during the commit
 */
export async function inTransaction<T>(postgres: Postgres, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  let isWorkDone = false;
  try {
    return await postgres.transaction(async (transaction) => {
      const result = await work(transaction);
      isWorkDone = true;
      return result;
    });
  } catch (error) {
    // Postgres rolls back a commit that it stops.
    if (!isWorkDone || !(error instanceof UnavailableError) || error instanceof StatementTooSlowError) throw error;
    const detail =
      'The connection to the database was lost during the commit. It is not known whether the change was stored.';
    throw new OutcomeUnknownError(error.code, detail, { cause: error.cause });
  }
}

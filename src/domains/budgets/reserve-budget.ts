import { ConflictError, ExhaustedError } from '../../lib/errors.ts';
import { formatUsd } from '../../lib/money.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { postgresAway } from '../../stores/postgres/errors.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { budgetTag, type Period, periodOf } from './budget.ts';
import { type BudgetGuard, type BudgetLimit, budgetExceeded, describeLimit, type Spending } from './budget-guard.ts';
import {
  deleteReservation,
  extendReservation,
  findBudget,
  insertReservation,
  lockBudget,
  sumReserved,
} from './budget-store.ts';

/**
 * Refuses to optimize a prompt when a budget blocks it.
 * @throws ExhaustedError `budget_exceeded`
 */
export function requireBudget(deps: { guard: BudgetGuard }, spending: Omit<Spending, 'what'>): Promise<void> {
  return deps.guard.require({ ...spending, what: 'optimize' });
}

/** A budget that changes while its spend is read is read again this often. */
const readsMax = 5;

/** What is reserved of a budget. `isBlocking`: the run may spend no more, because the budget blocks. */
export interface Reservation {
  id: string;
  isBlocking: boolean;
}

/**
 * Reserves what a run may spend until a time. Concurrent reservations never exceed the amount. A budget that blocks
 * nothing still records them.
 * @throws ExhaustedError `budget_exceeded`
 * @throws ConflictError `version_conflict` if the budget changes again and again
 * @throws RateLimitedError `workspace_busy` while the workspace has too many reads of budgets in progress
 * @throws UnavailableError while a store is unavailable
 */
export async function reserveBudget(
  deps: { postgres: Postgres; budgets: Pick<BudgetGuard, 'readSpend'> },
  reservation: { projectId: string; amountNanoUsd: bigint; expiresAt: Date },
): Promise<Reservation> {
  for (let reads = 0; reads < readsMax; reads++) {
    const reserved = await reserveOnce(deps, reservation);
    if (reserved !== undefined) return reserved;
  }
  throw new ConflictError('version_conflict', 'The budget changed again and again while its spend was read.');
}

/** Stores nothing and returns undefined if the budget is not the one whose spend was read. */
async function reserveOnce(
  deps: { postgres: Postgres; budgets: Pick<BudgetGuard, 'readSpend'> },
  { projectId, amountNanoUsd, expiresAt }: { projectId: string; amountNanoUsd: bigint; expiresAt: Date },
): Promise<Reservation | undefined> {
  const seen = await findBudget(deps.postgres, projectId);
  const period = seen && periodOf(seen, Date.now());
  const isBlocking = seen?.enabled === true && seen.enforcement !== 'none';
  // It is read before the transaction, so that a slow read holds no lock.
  const spend = isBlocking && period && (await deps.budgets.readSpend({ ...seen, scopes: [] }, period));
  return inTransaction(deps.postgres, async (transaction) => {
    const budget = await lockBudget(transaction, projectId);
    if ((budget && budgetTag(budget)) !== (seen && budgetTag(seen))) return undefined;
    if (budget && period && spend) {
      const used = spend.total + (await sumReserved(transaction, projectId));
      const limit = { amount: budget.amountNanoUsd, spend: used, of: 'The budget of the project', scope: null };
      if (used >= budget.amountNanoUsd) throw budgetExceeded(limit, period);
      if (used + amountNanoUsd > budget.amountNanoUsd) throw noRoom(limit, period, amountNanoUsd);
    }
    return { id: await insertReservation(transaction, { projectId, amountNanoUsd, expiresAt }), isBlocking };
  });
}

/** Creates the error for a budget that has less left than a run may cost. */
function noRoom(limit: BudgetLimit, period: Period, neededNanoUsd: bigint): ExhaustedError {
  const [left, amount, needed] = [limit.amount - limit.spend, limit.amount, neededNanoUsd].map(formatUsd);
  return new ExhaustedError(
    'budget_exceeded',
    `The run may cost up to ${needed} USD, and the budget of the project has ${left} of ${amount} USD left, without ` +
      `what other runs have reserved. Give the run a budget.max_cost_usd of at most ${left}.`,
    { extra: { ...describeLimit(limit, period), needed } },
  );
}

/**
 * Keeps a reservation until it is released, in the transaction that stores what it is for. What ends that must release it.
 * @throws UnavailableError if it has ended meanwhile
 */
export async function keepReservation(
  transaction: Postgres,
  reservation: { projectId: string; id: string },
): Promise<void> {
  if (!(await extendReservation(transaction, reservation))) throw postgresAway();
}

/** Ends a reservation. Does nothing if it has ended. */
export async function releaseReservation(
  { postgres }: { postgres: Postgres },
  { projectId, id }: { projectId: string; id: string },
): Promise<void> {
  await deleteReservation(postgres, projectId, id);
}

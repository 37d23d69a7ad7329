import { ConflictError, ExhaustedError } from '../../lib/errors.ts';
import { formatUsd } from '../../lib/money.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { postgresAway } from '../../stores/postgres/errors.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { budgetTag, type Period, periodOf } from './budget.ts';
import {
  type BudgetGuard,
  type BudgetLimit,
  budgetExceeded,
  describeLimit,
  isScopeOf,
  limitsOf,
  type Spender,
  type Spending,
} from './budget-guard.ts';
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

/** What is to be reserved, until when, and what will spend it. */
export interface ReservationInput extends Spender {
  projectId: string;
  amountNanoUsd: bigint;
  expiresAt: Date;
}

/** What is reserved of a budget. `isBlocking`: the run may spend no more, because the budget blocks. */
export interface Reservation {
  id: string;
  isBlocking: boolean;
}

/**
 * Reserves what a run may spend until a time. Concurrent reservations never exceed the amount. What the run may spend
 * must also fit in what is left of a scope of its prompt, and of one of its model if it calls no other. Reservations do
 * not count in scopes. A budget that blocks nothing still records them.
 * @throws ExhaustedError `budget_exceeded`
 * @throws ConflictError `version_conflict` if the budget changes again and again
 * @throws RateLimitedError `workspace_busy` while the workspace has too many reads of budgets in progress
 * @throws UnavailableError while a store is unavailable
 */
export async function reserveBudget(
  deps: { postgres: Postgres; budgets: Pick<BudgetGuard, 'readSpend'> },
  reservation: ReservationInput,
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
  { projectId, amountNanoUsd, expiresAt, ...spender }: ReservationInput,
): Promise<Reservation | undefined> {
  const seen = await findBudget(deps.postgres, projectId);
  const ofRun = seen && { ...seen, scopes: seen.scopes.filter((scope) => isScopeOf(spender, scope)) };
  const period = seen && periodOf(seen, Date.now());
  const isBlocking = seen?.enabled === true && seen.enforcement !== 'none';
  // It is read before the transaction, so that a slow read holds no lock.
  const spend = isBlocking && ofRun && period && (await deps.budgets.readSpend(ofRun, period));
  return inTransaction(deps.postgres, async (transaction) => {
    const budget = await lockBudget(transaction, projectId);
    if ((budget && budgetTag(budget)) !== (seen && budgetTag(seen))) return undefined;
    if (ofRun && period && spend) {
      const total = spend.total + (await sumReserved(transaction, projectId));
      for (const limit of limitsOf(ofRun, { ...spend, total }, spender)) {
        if (limit.spend >= limit.amount) throw budgetExceeded(limit, period);
        // How much of it a run of several models spends on one is not known.
        const isWhole = limit.scope?.by !== 'model' || spender.models.length === 1;
        if (isWhole && limit.spend + amountNanoUsd > limit.amount) throw noRoom(limit, period, amountNanoUsd);
      }
    }
    return { id: await insertReservation(transaction, { projectId, amountNanoUsd, expiresAt }), isBlocking };
  });
}

/** Creates the error for a limit that has less left than a run may cost. */
function noRoom(limit: BudgetLimit, period: Period, neededNanoUsd: bigint): ExhaustedError {
  const [left, amount, needed] = [limit.amount - limit.spend, limit.amount, neededNanoUsd].map(formatUsd);
  return new ExhaustedError(
    'budget_exceeded',
    `The run may cost up to ${needed} USD, and the ${limit.of} has ${left} of ${amount} USD left` +
      `${limit.scope === null ? ', without what other runs have reserved' : ''}. ` +
      `Give the run a budget.max_cost_usd of at most ${left}.`,
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

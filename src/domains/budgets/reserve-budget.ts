import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { periodOf } from './budget.ts';
import { type BudgetGuard, budgetExceeded, type Spending } from './budget-guard.ts';
import { deleteReservation, findBudget, insertReservation, lockBudget, sumReserved } from './budget-store.ts';
import { computeSpend } from './spend-queries.ts';

/**
 * Refuses to optimize a prompt when a budget blocks it.
 * @throws ExhaustedError `budget_exceeded`
 */
export function requireBudget(deps: { guard: BudgetGuard }, spending: Omit<Spending, 'what'>): Promise<void> {
  return deps.guard.require({ ...spending, what: 'optimize' });
}

/**
 * Reserves what a run may spend until a time, and returns the id of the reservation. Concurrent
 * reservations never exceed the amount. A budget that blocks nothing still records them.
 * @throws ExhaustedError `budget_exceeded`
 * @throws UnavailableError while a store is unavailable
 */
export async function reserveBudget(
  deps: { postgres: Postgres; clickhouse: ClickHouse },
  { projectId, amountNanoUsd, expiresAt }: { projectId: string; amountNanoUsd: bigint; expiresAt: Date },
): Promise<string> {
  const seen = await findBudget(deps.postgres, projectId);
  const period = seen && periodOf(seen, Date.now());
  const spend = seen && period && (await computeSpend(deps, { ...seen, scopes: [] }, { period }));
  return inTransaction(deps.postgres, async (transaction) => {
    const budget = await lockBudget(transaction, projectId);
    if (budget?.enabled && budget.enforcement !== 'none' && period && spend) {
      const used = spend.total + (await sumReserved(transaction, projectId));
      const limit = { amount: budget.amountNanoUsd, spend: used, of: 'The budget of the project', scope: null };
      if (used + amountNanoUsd > budget.amountNanoUsd) throw budgetExceeded(limit, period);
    }
    return insertReservation(transaction, { projectId, amountNanoUsd, expiresAt });
  });
}

/** Ends a reservation. Does nothing if it has ended. */
export async function releaseReservation(
  { postgres }: { postgres: Postgres },
  { projectId, id }: { projectId: string; id: string },
): Promise<void> {
  await deleteReservation(postgres, projectId, id);
}

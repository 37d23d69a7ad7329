import type { z } from 'zod';
import type { FairLane } from '../../lib/fair-lane.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Budget, type BudgetInput, dayStarts, type Period, periodOf } from './budget.ts';
import { type Alert, findBudget, listAlerts, sumReserved } from './budget-store.ts';
import { type budgetSchema, budgetToWire } from './budgets.schema.ts';
import { forecastSpend } from './forecast.ts';
import { computeSpend } from './spend-queries.ts';

export interface GetBudgetDeps {
  postgres: Postgres;
  clickhouse: ClickHouse;
  /** The lane of analytics. */
  lane: FairLane;
}

const historyDays = 28;

interface BudgetReader {
  projectId: string;
  workspaceId: string;
  signal: AbortSignal;
}

/** A budget, and its API JSON. */
export interface ReadBudget {
  budget: Budget | undefined;
  wire: z.infer<typeof budgetSchema>;
}

/**
 * Returns the budget of a project with its spend, or the spend of the current month (UTC) without a budget.
 * @throws what {@link readUse} throws
 */
export async function getBudget(deps: GetBudgetDeps, reader: BudgetReader): Promise<ReadBudget> {
  const budget = await findBudget(deps.postgres, reader.projectId);
  const alertsOf = ({ startMs }: Period) => (budget === undefined ? [] : listAlerts(deps.postgres, budget, startMs));
  const reportOn = await readUse(deps, reader, budget ?? { timezone: 'UTC', period: 'monthly', scopes: [] }, alertsOf);
  return { budget, wire: reportOn(budget) };
}

/**
 * Reads what was spent in the period of a budget, and what is reserved. The budget need not be stored yet.
 * @returns a function that returns the API JSON of a budget with these limits
 * @throws RateLimitedError or UnavailableError when the lane is full, or a store is unavailable
 */
export async function readUse(
  deps: GetBudgetDeps,
  { projectId, workspaceId, signal }: BudgetReader,
  { timezone, period: kind, scopes }: Pick<BudgetInput, 'timezone' | 'period' | 'scopes'>,
  alertsOf: (period: Period) => Promise<Alert[]> | Alert[],
): Promise<(budget: Budget | undefined) => ReadBudget['wire']> {
  const nowMs = Date.now();
  const period = periodOf({ timezone, period: kind }, nowMs);
  const starts = dayStarts(timezone, nowMs, historyDays);
  const clickhouse = stoppable(deps.clickhouse, signal);
  const [spend, reserved, alerts] = await Promise.all([
    deps.lane.run(
      workspaceId,
      () => computeSpend({ ...deps, clickhouse }, { projectId, scopes }, { period, days: starts }),
      { waiter: { signal } },
    ),
    sumReserved(deps.postgres, projectId),
    alertsOf(period),
  ]);
  return (budget) => {
    const amount = budget?.amountNanoUsd ?? null;
    const forecast = forecastSpend(spend, { period, amount, nowMs, timezone, starts });
    return budgetToWire({ budget, spend, reserved, alerts, forecast, period, nowMs });
  };
}

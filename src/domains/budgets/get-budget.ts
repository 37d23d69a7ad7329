import type { z } from 'zod';
import type { FairLane } from '../../lib/fair-lane.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Budget, dayStarts, periodOf } from './budget.ts';
import { findBudget, listAlerts, sumReserved } from './budget-store.ts';
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

/**
 * Returns the budget of a project with its spend, or the spend of the current month (UTC) without a budget.
 * @throws RateLimitedError or UnavailableError when the lane is full, or a store is unavailable
 */
export async function getBudget(
  deps: GetBudgetDeps,
  { projectId, workspaceId, signal }: { projectId: string; workspaceId: string; signal: AbortSignal },
): Promise<{ budget: Budget | undefined; wire: z.infer<typeof budgetSchema> }> {
  const nowMs = Date.now();
  const budget = await findBudget(deps.postgres, projectId);
  const { timezone, period: kind } = budget ?? { timezone: 'UTC', period: 'monthly' as const };
  const period = periodOf({ timezone, period: kind }, nowMs);
  const starts = dayStarts(timezone, nowMs, historyDays);
  const clickhouse = stoppable(deps.clickhouse, signal);
  const [spend, reserved, alerts] = await Promise.all([
    deps.lane.run(
      workspaceId,
      () =>
        computeSpend({ ...deps, clickhouse }, { projectId, scopes: budget?.scopes ?? [] }, { period, days: starts }),
      { waiter: { signal } },
    ),
    sumReserved(deps.postgres, projectId),
    budget === undefined ? [] : listAlerts(deps.postgres, budget, period.startMs),
  ]);
  const amount = budget?.amountNanoUsd ?? null;
  const forecast = forecastSpend(spend, { period, amount, nowMs, timezone, starts });
  return { budget, wire: budgetToWire({ budget, spend, reserved, alerts, forecast, period, nowMs }) };
}

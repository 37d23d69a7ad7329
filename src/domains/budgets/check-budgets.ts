import { FairLane } from '../../lib/fair-lane.ts';
import { formatUsd } from '../../lib/money.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { countsKeys } from '../../stores/redis/names.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { recordEvents } from '../events/index.ts';
import { type Budget, type BudgetScope, budgetTag, hasReached, type Period, periodOf, scopeKey } from './budget.ts';
import {
  type BudgetToCheck,
  deleteOldAlerts,
  enabledBudgets,
  findBudget,
  insertAlerts,
  lockBudget,
  noteChecked,
  type Reached,
} from './budget-store.ts';
import { overlapMs, periodsToCheck } from './periods-to-check.ts';
import { computeSpend, findActiveProjects } from './spend-queries.ts';

export interface CheckBudgetsDeps {
  postgres: Postgres;
  clickhouse: ClickHouse;
  redis: Redis;
  logger: Logger;
}

const pageSize = 200;
/** Budgets of one workspace that one page checks, chosen at random. The others are checked in later runs. */
const perWorkspaceMax = 50;
/** So long may one run check budgets of a workspace, two at once. The others are checked in later runs. */
const perWorkspaceMs = 5_000;
/** A longer time without a check is not looked at: each project is checked. */
const gapMsMax = 10 * 60_000;

/**
 * Checks the budgets of projects that received spans since their last check, and records an event for
 * each threshold that was reached, once per period and version. Four projects at once, two of one workspace.
 * @throws UnavailableError while a store is unavailable
 */
export async function checkBudgets(deps: CheckBudgetsDeps, { nowMs }: { nowMs: number }): Promise<void> {
  const { postgres, redis, logger } = deps;
  const startedAtMs = performance.now();
  const lane = new FairLane({
    ...{
      name: 'checks of budgets',
      capacity: 4,
      perKey: 2,
      perBusyKey: 1,
      waitingPerKey: pageSize,
      waitingMax: pageSize,
    },
  });
  let [fired, failures] = [0, 0];
  const spentMs = new Map<string, number>();
  for await (const page of enabledBudgets(postgres, pageSize)) {
    const due = await dueBudgets(deps, page, nowMs);
    const chosen = someOfEach(due);
    const unchecked = new Set(due.map(({ projectId }) => projectId));
    const check = async (each: DueBudget): Promise<void> => {
      const { workspaceId } = each;
      if ((spentMs.get(workspaceId) ?? 0) >= perWorkspaceMs) return;
      const beganAtMs = performance.now();
      const count = await checkPeriods(deps, each, nowMs).finally(() => {
        const tookMs = performance.now() - beganAtMs;
        spentMs.set(workspaceId, (spentMs.get(workspaceId) ?? 0) + tookMs);
      });
      fired += count;
      unchecked.delete(each.projectId);
    };
    await Promise.all(
      chosen.map(async (each) => {
        const { workspaceId, projectId } = each;
        try {
          await lane.run(workspaceId, () => check(each));
        } catch (error) {
          failures++;
          logger.warn({ err: error, project_id: projectId }, 'a budget could not be checked');
        }
      }),
    );
    const checked = page.filter((each) => !unchecked.has(each.projectId));
    await noteChecked(postgres, checked, new Date(nowMs));
  }
  const counts = redis.multi().hset(countsKeys.budgets, 'checked_at_ms', Date.now());
  counts.hset(countsKeys.budgets, 'check_ms', Math.round(performance.now() - startedAtMs));
  if (fired > 0) counts.hincrby(countsKeys.budgets, 'fired', fired);
  if (failures > 0) counts.hincrby(countsKeys.budgets, 'failures', failures);
  await counts.exec();
}

/** A budget to check, and when the first of the executions began that were summarized since its last check. */
interface DueBudget extends BudgetToCheck {
  /** 0 if it is not known. */
  firstStartMs: number;
}

async function dueBudgets(
  { clickhouse }: CheckBudgetsDeps,
  page: readonly BudgetToCheck[],
  nowMs: number,
): Promise<DueBudget[]> {
  const isUnknown = ({ version, checkedVersion, checkedAtMs }: BudgetToCheck) =>
    checkedVersion !== version || checkedAtMs < nowMs - gapMsMax;
  const known = page.filter((each) => !isUnknown(each));
  const projectIds = known.map(({ projectId }) => projectId);
  const sinceMs = Math.min(...known.map(({ checkedAtMs }) => checkedAtMs)) - overlapMs;
  const active = known.length === 0 ? undefined : await findActiveProjects(clickhouse, { projectIds, sinceMs });
  return page.flatMap((each) => {
    const firstStartMs = isUnknown(each) ? 0 : active?.get(each.projectId);
    return firstStartMs === undefined ? [] : [{ ...each, firstStartMs }];
  });
}

function someOfEach(due: readonly DueBudget[]): DueBudget[] {
  const counts = new Map<string, number>();
  const inRandomOrder = due.map((each) => ({ each, at: Math.random() })).toSorted((a, b) => a.at - b.at);
  return inRandomOrder.flatMap(({ each }) => {
    const { workspaceId } = each;
    const count = (counts.get(workspaceId) ?? 0) + 1;
    counts.set(workspaceId, count);
    return count > perWorkspaceMax ? [] : [each];
  });
}

async function checkPeriods(deps: CheckBudgetsDeps, due: DueBudget, nowMs: number): Promise<number> {
  const budget = await findBudget(deps.postgres, due.projectId);
  if (budget === undefined || budgetTag(budget) !== budgetTag(due)) return 0;
  let fired = 0;
  for (const period of periodsToCheck(budget, due, nowMs)) fired += await checkBudget(deps, budget, period);
  return fired;
}

/** Returns the number of thresholds that were reached for the first time. */
async function checkBudget(deps: CheckBudgetsDeps, budget: Budget, period: Period): Promise<number> {
  const spend = await computeSpend(deps, budget, { period });
  const limits = [
    { scope: null, amount: budget.amountNanoUsd, spend: spend.total },
    ...budget.scopes.map(({ by, value, amountNanoUsd }, index) => ({
      ...{ scope: { by, value }, amount: amountNanoUsd, spend: spend.scopes[index] ?? 0n },
    })),
  ];
  const reached = limits.flatMap((limit) =>
    budget.thresholds
      .filter((threshold) => hasReached(limit.spend, limit.amount, threshold))
      .map((threshold) => ({ ...limit, threshold })),
  );
  if (reached.length === 0) return 0;
  return inTransaction(deps.postgres, async (transaction) => {
    const current = await lockBudget(transaction, budget.projectId);
    if (current === undefined || budgetTag(current) !== budgetTag(budget) || !current.enabled) return 0;
    const fired = await insertAlerts(transaction, budget, period.startMs, reached.map(alertOf));
    if (fired.length === 0) return 0;
    const isFired = new Set(fired.map(keyOf));
    const crossings = reached.filter((crossing) => isFired.has(keyOf(alertOf(crossing))));
    await recordEvents(
      transaction,
      crossings.map((crossing) => eventOf(budget, period, crossing)),
    );
    // The next check may still look at the period before.
    const { startMs } = period.startMs === null ? period : periodOf(budget, period.startMs - 1);
    await deleteOldAlerts(transaction, budget, startMs);
    return fired.length;
  });
}

const alertOf = ({ scope, threshold }: Crossing) => ({ scope: scope === null ? '' : scopeKey(scope), threshold });
const keyOf = ({ scope, threshold }: Reached) => `${threshold} ${scope}`;

interface Crossing {
  scope: Pick<BudgetScope, 'by' | 'value'> | null;
  amount: bigint;
  spend: bigint;
  threshold: number;
}

function eventOf(budget: Budget, period: Period, { scope, amount, spend, threshold }: Crossing) {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    workspaceId: budget.workspaceId,
    projectId: budget.projectId,
    webhookIds: budget.webhookIds,
    type: 'budget.threshold_reached' as const,
    data: {
      project_id: budget.projectId,
      threshold,
      amount: formatUsd(amount),
      spend: formatUsd(spend),
      used_ratio: Number(spend) / Number(amount),
      currency: 'USD',
      period: budget.period,
      period_start: iso(period.startMs),
      period_end: iso(period.endMs),
      budget_version: budget.version,
      scope,
    },
  };
}

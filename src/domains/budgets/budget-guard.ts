import { ExhaustedError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { formatUsd } from '../../lib/money.ts';
import { RecordCache } from '../../lib/record-cache.ts';
import { retainedBytesOf } from '../../lib/retained-bytes.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Budget, BudgetScope, Period } from './budget.ts';
import { findBudget } from './budget-store.ts';
import { computeSpend, type Spend } from './spend-queries.ts';
import { SpendStates } from './spend-states.ts';

const toldLifeMs = 30_000;
const untoldLifeMs = 800;
const staleOnErrorMs = 10 * 60_000;
const projectsMax = 20_000;
const budgetBytesMax = 32 * 1024 * 1024;

/** Null if the project has no budget that blocks. */
type Known = { projectId: string; budget: Budget | null };

export interface BudgetGuardDeps {
  postgres: Postgres;
  clickhouse: ClickHouse;
  invalidations: Pick<Invalidations, 'connected' | 'subscribe' | 'onGap'>;
  logger: Logger;
}

/** What wants to spend. Scopes by user and environment do not apply. */
export interface Spending {
  projectId: string;
  workspaceId: string;
  what: 'render' | 'optimize';
  /** Its id, slug and name. */
  prompt: readonly string[];
  model: string | null;
}

/** Caches which projects have a budget that blocks, and what they have spent. */
export class BudgetGuard {
  readonly #deps: BudgetGuardDeps;
  readonly #budgets: RecordCache<Known>;
  readonly #states: SpendStates;
  /** Of its own, so that dashboards do not delay renders. A workspace holds one of two places. */
  readonly #lane = new FairLane({
    ...{ name: 'reads of budgets', capacity: 2, perKey: 1, waitingPerKey: 16, waitingMax: 256, waitMsMax: 10_000 },
  });

  constructor(deps: BudgetGuardDeps) {
    this.#deps = deps;
    this.#budgets = new RecordCache<Known>({
      load: async (key) => {
        const projectId = key.slice(key.indexOf(' ') + 1);
        const budget = await findBudget(deps.postgres, projectId);
        return { projectId, budget: budget?.enabled && budget.enforcement !== 'none' ? budget : null };
      },
      sharerOf: (key) => key.slice(0, key.indexOf(' ')),
      lifeMs: () => (deps.invalidations.connected ? toldLifeMs : untoldLifeMs),
      missingMs: 0,
      staleOnErrorMs,
      entriesMax: projectsMax,
      sizes: { bytesMax: budgetBytesMax, bytesOf: retainedBytesOf },
    });
    this.#states = new SpendStates({
      read: (budget, period) => this.readSpend(budget, period),
      onFailure: (err, { projectId }) =>
        deps.logger.warn({ err, project_id: projectId }, 'the spend of a budget could not be read'),
    });
    deps.invalidations.subscribe('budget', (ids) => this.#budgets.drop(({ projectId }) => ids.has(projectId)));
    deps.invalidations.onGap(() => this.#budgets.doubt());
  }

  /**
   * Refuses spending that a budget blocks. The state is at most a minute old; while it cannot be read, up to ten
   * minutes. Without such a state nothing is blocked, and the log has the reason.
   * @throws ExhaustedError `budget_exceeded`
   */
  async require(spending: Spending): Promise<void> {
    const budget = await this.#find(spending);
    if (budget === null || (spending.what === 'render' && budget.enforcement !== 'block_render')) return;
    const state = await this.#states.find(budget);
    if (state === undefined) return;
    const { prompt, model } = spending;
    const limits = limitsOf(budget, state.spend, { prompt, models: model === null ? [] : [model] });
    const exceeded = limits.find(({ amount, spend }) => spend >= amount);
    if (exceeded !== undefined) throw budgetExceeded(exceeded, state.period);
  }

  /**
   * Reads what has been spent in a period.
   * @throws RateLimitedError `workspace_busy`
   * @throws UnavailableError `server_busy`, or while ClickHouse is unavailable
   */
  readSpend(budget: Budget, period: Period): Promise<Spend> {
    return this.#lane.run(budget.workspaceId, () => computeSpend(this.#deps, budget, { period }));
  }

  async #find({ workspaceId, projectId }: Spending): Promise<Budget | null> {
    try {
      return (await this.#budgets.find(`${workspaceId} ${projectId}`))?.budget ?? null;
    } catch (error) {
      this.#deps.logger.warn({ err: error, project_id: projectId }, 'the budget could not be read, nothing is blocked');
      return null;
    }
  }
}

/** What spends: the id, slug and name of its prompt, and the models that it calls. */
export interface Spender {
  prompt: readonly string[];
  models: readonly string[];
}

/** Returns whether a scope limits a spender. Those by user and environment limit none. */
export function isScopeOf({ prompt, models }: Spender, { by, value }: BudgetScope): boolean {
  return (by === 'prompt' && prompt.includes(value)) || (by === 'model' && models.includes(value));
}

/** Returns the limits of a spender: the whole budget, then those scopes of it that limit the spender. */
export function limitsOf(budget: Budget, spend: Spend, spender: Spender): BudgetLimit[] {
  return [
    { amount: budget.amountNanoUsd, spend: spend.total, of: 'budget of the project', scope: null },
    ...budget.scopes.flatMap((scope, index) => {
      if (!isScopeOf(spender, scope)) return [];
      const { by, value, amountNanoUsd: amount } = scope;
      const of = `budget of ${by} ${value.slice(0, 100)}`;
      return [{ amount, spend: spend.scopes[index] ?? 0n, of, scope: { by, value } }];
    }),
  ];
}

/** Returns the error for a limit that is used up. */
export function budgetExceeded(limit: BudgetLimit, period: Period): ExhaustedError {
  const extra = describeLimit(limit, period);
  const reset = extra.resets_at === null ? 'It does not reset.' : `It resets at ${extra.resets_at}.`;
  const message = `The ${limit.of} is used up: ${extra.spend} of ${extra.amount} USD. ${reset}`;
  return new ExhaustedError('budget_exceeded', message, { extra });
}

/** A budget, or a scope of it, that allows no more. `spend` includes what is reserved. */
export interface BudgetLimit {
  amount: bigint;
  spend: bigint;
  of: string;
  scope: Pick<BudgetScope, 'by' | 'value'> | null;
}

/** Returns the fields of a problem that describe a limit. */
export function describeLimit({ amount, spend, scope }: BudgetLimit, { endMs }: Period) {
  const resetsAt = endMs === null ? null : new Date(endMs).toISOString();
  return { spend: formatUsd(spend), amount: formatUsd(amount), resets_at: resetsAt, scope };
}

import { ConflictError, OutcomeUnknownError, RateLimitedError, UnavailableError } from '../../lib/errors.ts';
import { newId, type WorkspaceId } from '../../lib/ids.ts';
import { parseUsd } from '../../lib/money.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import {
  type BudgetGuard,
  keepReservation,
  releaseReservation,
  requireBudget,
  reserveBudget,
} from '../budgets/index.ts';
import { consumeQuota, type Limiter, requireQuota } from '../quotas/index.ts';
import type { Item } from '../versioned/index.ts';
import type { ProjectScope, WorkspaceScope } from '../workspaces/index.ts';
import { modelsOf } from './model-prices.ts';
import { insertRows, type StoredRow } from './row-store.ts';
import type { Run } from './run.ts';
import { insertRunEvents } from './run-event-store.ts';
import { countActiveRuns, findActiveRunId, insertRun, lockActiveRuns, type NewRun } from './run-store.ts';

export interface StartRunDeps {
  postgres: Postgres;
  budgets: BudgetGuard;
  limiter: Limiter;
  logger: Logger;
  /** Makes jobs for queued runs. Workers do so too, every two seconds. */
  enqueueRuns: () => Promise<void>;
}

/** A run that is to begin. */
export interface RunToStart extends Pick<Run, 'baseVersion' | 'config' | 'options' | 'plan' | 'warnings'> {
  prompt: Pick<Item, 'id' | 'slug' | 'name'>;
  rows: readonly StoredRow[];
}

export interface Starting {
  project: ProjectScope;
  actor: AuditActor;
  /** The workspace whose quota is used; undefined for the operator, who has no limits. */
  limited: WorkspaceScope | undefined;
  run: RunToStart;
}

/** Runs of a workspace that have not ended. They begin in turn. */
const activeRunsMax = 50;
const retryAfterS = 60;
/** Longer than a run takes to be stored. The reservation of one that was not stored, as its process was killed, ends then. */
const storingMs = 5 * 60_000;

/**
 * Stores a run, which then begins in its turn. Nothing is stored, reserved or counted if it is refused.
 * @throws ConflictError `run_in_progress` with the id of the other run
 * @throws ExhaustedError `budget_exceeded`, `quota_exceeded`; RateLimitedError `too_many_runs`
 * @throws UnavailableError `queue_unavailable` and those of the stores
 */
export async function startRun(deps: StartRunDeps, { project, actor, limited, run }: Starting): Promise<Run> {
  const { projectId, workspaceId } = project;
  const { id: promptId, slug, name } = run.prompt;
  const prompt = [promptId, slug, name];
  await requireBudget({ guard: deps.budgets }, { projectId, workspaceId, prompt, model: run.config.target.model });
  await refuseActive(deps.postgres, project, promptId);
  const { reservationId, costMaxNanoUsd } = await reserve(deps, { projectId, prompt }, run);
  try {
    const stored = await inTransaction(deps.postgres, async (transaction) => {
      const inserted = await insertRun(transaction, {
        ...{ id: newId('opt'), workspaceId, projectId, promptId, reservationId, costMaxNanoUsd, createdBy: actor },
        ...{ baseVersion: run.baseVersion, config: run.config, options: run.options },
        ...{ plan: run.plan, warnings: run.warnings },
      });
      if (inserted === undefined) throw inProgress(await findActiveRunId(transaction, { projectId, promptId }));
      if (reservationId !== null) await keepReservation(transaction, { projectId, id: reservationId });
      const ref = { projectId, runId: inserted.id };
      await insertRows(transaction, ref, run.rows);
      await insertRunEvents(transaction, ref, [{ type: 'state', data: { status: inserted.state } }]);
      await recordAudit(transaction, {
        ...{ workspaceId, projectId, actor, targetType: 'optimization_run', targetId: inserted.id },
        ...{ action: 'optimization_run.created', details: { prompt_id: promptId, base_version: run.baseVersion } },
      });
      await requireFewRuns(transaction, workspaceId);
      // Last, because what is counted is not given back.
      if (limited !== undefined) await asked(consumeQuota(deps, limited, oneRun()));
      return inserted;
    });
    await deps.enqueueRuns().catch((error: unknown) => {
      deps.logger.warn({ err: error, run_id: stored.id }, 'no job was made for a run yet, a worker will make it');
    });
    return stored;
  } catch (error) {
    // If the outcome is not known, the run may exist, and the reservation ends by itself.
    if (reservationId !== null && !(error instanceof OutcomeUnknownError))
      await releaseReservation(deps, { projectId, id: reservationId }).catch(() => undefined);
    throw error;
  }
}

/**
 * Refuses a run that could not begin now, before its rows are read. Takes nothing.
 * @throws ConflictError `run_in_progress`, RateLimitedError `too_many_runs`, ExhaustedError `quota_exceeded`
 * @throws UnavailableError `queue_unavailable` and those of the stores
 */
export async function requireStart(
  { postgres, limiter }: Pick<StartRunDeps, 'postgres' | 'limiter'>,
  { project, limited }: Pick<Starting, 'project' | 'limited'>,
  promptId: string,
): Promise<void> {
  await refuseActive(postgres, project, promptId);
  if (limited !== undefined) await asked(requireQuota({ limiter }, limited, oneRun()));
}

async function refuseActive(
  postgres: Postgres,
  { projectId, workspaceId }: ProjectScope,
  promptId: string,
): Promise<void> {
  const activeId = await findActiveRunId(postgres, { projectId, promptId });
  if (activeId !== undefined) throw inProgress(activeId);
  if ((await countActiveRuns(postgres, workspaceId)) >= activeRunsMax) throw tooManyRuns();
}

/** Refuses the run that the transaction has inserted if others that began at the same time were the last allowed. */
async function requireFewRuns(transaction: Postgres, workspaceId: WorkspaceId): Promise<void> {
  await lockActiveRuns(transaction, workspaceId);
  if ((await countActiveRuns(transaction, workspaceId)) > activeRunsMax) throw tooManyRuns();
}

function tooManyRuns(): RateLimitedError {
  return new RateLimitedError('too_many_runs', `The workspace has ${activeRunsMax} runs that have not ended`, {
    retryAfterS,
  });
}

function inProgress(runId: string | undefined): ConflictError {
  const message =
    runId === undefined ? 'Another run of the prompt has just begun' : `The run ${runId} of this prompt has not ended`;
  return new ConflictError('run_in_progress', message, { extra: { run_id: runId ?? null } });
}

const notReserved =
  'The connection to Postgres was lost while the budget was reserved. There is no run. Send the request again.';

/** What a run has reserved. It is held to it by a budget that blocks. */
type Reserved = Pick<NewRun, 'reservationId' | 'costMaxNanoUsd'>;

/**
 * Reserves what the run may cost: its limit, otherwise the estimate. If that is 0, a run under a budget that blocks only
 * makes calls that cost nothing.
 */
async function reserve(
  deps: StartRunDeps,
  named: { projectId: string; prompt: readonly string[] },
  { config, options, plan }: RunToStart,
): Promise<Reserved> {
  const estimate = options.priced_cost_usd ?? plan.estimated_cost_usd?.[1];
  const amountNanoUsd = parseUsd(config.budget.maxCostUsd ?? estimate) ?? 0n;
  const expiresAt = new Date(Date.now() + storingMs);
  try {
    const wanted = { ...named, models: modelsOf(config), amountNanoUsd, expiresAt };
    const { id, isBlocking } = await reserveBudget(deps, wanted);
    return { reservationId: id, costMaxNanoUsd: isBlocking ? amountNanoUsd : undefined };
  } catch (error) {
    // The reservation may exist, and ends by itself. What is known is that there is no run.
    if (error instanceof OutcomeUnknownError) throw new UnavailableError(error.code, notReserved, { cause: error });
    throw error;
  }
}

const oneRun = () => ({ quota: 'optimization_runs', units: 1, atMs: Date.now() }) as const;

/** Returns when a quota has been asked. While Redis is unavailable, there is no queue for the run either. */
async function asked(asking: Promise<void>): Promise<void> {
  try {
    await asking;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    throw new UnavailableError(
      'queue_unavailable',
      'The queue is unavailable, so the run was not created. Try again.',
      {
        retryAfterS: 1,
        cause: error,
      },
    );
  }
}

import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import { parseUsd } from '../../lib/money.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { prunedAtOnce, tablesOfRun } from './queue-store.ts';
import { activeStates, callsMax, type Run } from './run.ts';
import { type RunRow, toRun } from './run-row.ts';

export type NewRun = Pick<
  Run,
  'id' | 'workspaceId' | 'projectId' | 'promptId' | 'baseVersion' | 'config' | 'options' | 'plan' | 'warnings'
> & {
  createdBy: Run['createdBy'];
  reservationId: string | null;
  /** What the run may cost if its owner sets no limit: what it has reserved of a budget that blocks. */
  costMaxNanoUsd?: bigint | undefined;
};

/**
 * Stores a queued run. Returns undefined, and stores nothing, while another run of the prompt has
 * not ended.
 */
export async function insertRun(transaction: Postgres, run: NewRun): Promise<Run | undefined> {
  const { budget } = run.config;
  const limitNanoUsd = parseUsd(budget.maxCostUsd) ?? run.costMaxNanoUsd;
  const progress = { phase: 'preparing', iteration: 0, bestVal: null, bestCandidateId: null, fraction: 0 };
  const [row]: RunRow[] = await transaction('optimization_runs')
    .insert({
      id: run.id,
      workspace_id: run.workspaceId,
      project_id: run.projectId,
      prompt_id: run.promptId,
      base_version: run.baseVersion,
      algorithm: run.config.algorithm,
      config: JSON.stringify(run.config),
      options: JSON.stringify(run.options),
      plan: JSON.stringify(run.plan),
      warnings: JSON.stringify(run.warnings),
      progress: JSON.stringify({ ...progress, updatedAt: new Date().toISOString() }),
      created_by_type: run.createdBy.type,
      created_by_id: run.createdBy.id,
      limit_calls: budget.maxCalls ?? callsMax,
      limit_tokens: budget.maxTokens,
      limit_nano_usd: limitNanoUsd === undefined ? null : String(limitNanoUsd),
      budget_reservation_id: run.reservationId,
    })
    .onConflict(transaction.raw(`(project_id, prompt_id) where state in ('queued', 'running', 'cancelling')`))
    .ignore()
    .returning('*');
  return row && toRun(row);
}

/** Names a run by everything that its path has. */
export interface RunKey {
  projectId: ProjectId;
  promptId: string;
  id: string;
}

/** Finds a run of a prompt. */
export async function findRun(postgres: Postgres, { projectId, promptId, id }: RunKey): Promise<Run | undefined> {
  const row = await postgres('optimization_runs')
    .where({ project_id: projectId, prompt_id: promptId, id })
    .first<RunRow | undefined>('*');
  return row && toRun(row);
}

/** Locks a run until the transaction ends. */
export async function lockRun(transaction: Postgres, { projectId, promptId, id }: RunKey): Promise<Run | undefined> {
  const row = await transaction('optimization_runs')
    .where({ project_id: projectId, prompt_id: promptId, id })
    .forUpdate()
    .first<RunRow | undefined>('*');
  return row && toRun(row);
}

/** Returns the id of the run of a prompt that has not ended. */
export async function findActiveRunId(
  postgres: Postgres,
  { projectId, promptId }: Pick<RunKey, 'projectId' | 'promptId'>,
): Promise<string | undefined> {
  const row = await postgres('optimization_runs')
    .where({ project_id: projectId, prompt_id: promptId })
    .whereIn('state', [...activeStates])
    .first<{ id: string } | undefined>('id');
  return row?.id;
}

/** Makes other runs of the workspace wait to begin until the transaction ends. */
export async function lockActiveRuns(transaction: Postgres, workspaceId: WorkspaceId): Promise<void> {
  await transaction.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`active runs of ${workspaceId}`]);
}

/** Counts the runs of a workspace that have not ended. */
export async function countActiveRuns(postgres: Postgres, workspaceId: WorkspaceId): Promise<number> {
  const row = await postgres('optimization_runs')
    .where('workspace_id', workspaceId)
    .whereIn('state', [...activeStates])
    .first<{ count: number } | undefined>(postgres.raw('count(*)::int as count'));
  return row?.count ?? 0;
}

/** Runs of a prompt that are looked at for their holdout. */
const recentRunsMax = 200;

/** Counts the last runs of a prompt that had this holdout. */
export async function countHoldoutUses(
  postgres: Postgres,
  { projectId, promptId }: Pick<RunKey, 'projectId' | 'promptId'>,
  holdoutId: string,
): Promise<number> {
  const recent = postgres('optimization_runs')
    .where({ project_id: projectId, prompt_id: promptId })
    .orderBy('id', 'desc')
    .limit(recentRunsMax)
    .select(postgres.raw(`options->>'holdout_id' as holdout_id`))
    .as('recent');
  const row = await postgres
    .from(recent)
    .where('holdout_id', holdoutId)
    .first<{ count: number } | undefined>(postgres.raw('count(*)::int as count'));
  return row?.count ?? 0;
}

/** Asks the worker that has a run to cancel it. Returns undefined if the run is not running. */
export async function markCancelling(transaction: Postgres, { projectId, id }: Run): Promise<Run | undefined> {
  const [row]: RunRow[] = await transaction('optimization_runs')
    .where({ project_id: projectId, id, state: 'running' })
    .update({ state: 'cancelling', revision: transaction.raw('revision + 1') })
    .returning('*');
  return row && toRun(row);
}

/** Stores which version a run has made. */
export async function storeApplied(
  transaction: Postgres,
  { projectId, id }: Pick<Run, 'projectId' | 'id'>,
  applied: { version: number; candidateId: string },
): Promise<void> {
  await transaction('optimization_runs')
    .where({ project_id: projectId, id })
    .update({
      ...{ applied_version: applied.version, applied_candidate_id: applied.candidateId },
      revision: transaction.raw('revision + 1'),
    });
}

/**
 * Deletes a locked run with everything of it. One that has more than 500 rows is only marked: nothing finds it, and
 * `pruneRuns` deletes it later.
 */
export async function deleteRunRow(transaction: Postgres, { projectId, id }: Run): Promise<void> {
  const ofRun = tablesOfRun.map((table) =>
    transaction(table)
      .where({ project_id: projectId, run_id: id })
      .limit(prunedAtOnce + 1)
      .select(transaction.raw('1 as one')),
  );
  const rows = await transaction.unionAll(ofRun, true).limit(prunedAtOnce + 1);
  const run = transaction('optimization_runs_with_deleted').where({ project_id: projectId, id });
  if (rows.length <= prunedAtOnce) await run.delete();
  else await run.update({ deleted_at: transaction.raw('clock_timestamp()') });
}

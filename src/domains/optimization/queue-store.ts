import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { deleteInSlices } from '../../stores/postgres/delete-in-slices.ts';
import { leaseMs } from './lease.ts';

/** Runs of one workspace that are in the queue or in progress at once. */
export const runsPerWorkspace = 2;
/** A run whose job was made so long ago and that no worker has may have no job. */
const staleJobMs = 5_000;
const pageMax = 100;

export interface QueuedRun {
  projectId: ProjectId;
  runId: string;
  /** The place among the runs of its workspace, from 1. Those that have begun are before the others. */
  place: number;
  /** Attempts that workers have begun. */
  attempt: number;
}

/**
 * Returns the runs that need a job, and notes that they get one: queued runs, in turn between
 * workspaces, each of which has at most {@link runsPerWorkspace} in progress; those whose job is lost; and
 * `withLost` those whose worker is lost. Those that have begun come first, as their time passes. A run that has a job
 * already may be among them. Those that a transaction has locked come next time: the others do not wait for it.
 */
export async function takeQueuedRuns(postgres: Postgres, { withLost }: { withLost: boolean }): Promise<QueuedRun[]> {
  const { rows } = await postgres.raw<{ rows: QueuedRun[] }>(
    `with open as (
       select id, state, created_at, enqueued_at, lease_token, heartbeat_at, attempt,
         row_number() over (partition by workspace_id order by (attempt = 0), (enqueued_at is null), created_at, id) as place
       from optimization_runs where state in ('queued', 'running', 'cancelling')
     ), due as (
       select id, place from open
       where (state = 'queued' and place <= ? and (enqueued_at is null
           or enqueued_at < clock_timestamp() - ? * interval '1 millisecond'))
         or (state in ('running', 'cancelling') and (lease_token is null
           or ? and heartbeat_at < clock_timestamp() - ? * interval '1 millisecond'))
       order by (attempt = 0), place, created_at limit ?
     ), free as (
       select due.id, due.place from due join optimization_runs as run on run.id = due.id for update of run skip locked
     )
     update optimization_runs set enqueued_at = clock_timestamp() from free where optimization_runs.id = free.id
     returning project_id as "projectId", optimization_runs.id as "runId", free.place::integer as place, attempt`,
    [runsPerWorkspace, staleJobMs, withLost, leaseMs, pageMax],
  );
  return rows;
}

/** The tables that have rows of runs. */
export const tablesOfRun = [
  'optimization_calls',
  'optimization_evaluations',
  'optimization_events',
  'optimization_candidates',
  'optimization_rows',
] as const;
/** Rows of a run that one statement deletes. More take longer than a statement may. */
export const prunedAtOnce = 500;

/**
 * Deletes runs that are marked as deleted, with their rows.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function pruneRuns({ postgres }: { postgres: Postgres }): Promise<void> {
  const marked = postgres('optimization_runs_with_deleted')
    .whereNotNull('deleted_at')
    .orderBy('deleted_at')
    .limit(prunedAtOnce);
  await deleteInSlices(prunedAtOnce, async () => {
    const runs = await marked.clone().select<{ id: string; project_id: string }[]>('id', 'project_id');
    for (const run of runs) {
      if (!(await pruneRun(postgres, run))) return 0;
    }
    return runs.length;
  });
}

/** Returns false, and leaves the rest, if the run has more rows than one job deletes. */
async function pruneRun(postgres: Postgres, run: { id: string; project_id: string }): Promise<boolean> {
  for (const table of tablesOfRun) {
    const rows = postgres(table).where({ project_id: run.project_id, run_id: run.id });
    const some = rows.clone().limit(prunedAtOnce).select('ctid');
    const isDone = await deleteInSlices(prunedAtOnce, () =>
      rows.clone().whereRaw('ctid = any (array(?))', [some.clone()]).delete(),
    );
    if (!isDone) return false;
  }
  await postgres('optimization_runs_with_deleted').where(run).delete();
  return true;
}

import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { CandidateStatus } from '../prompt-search/index.ts';
import type { CandidateCounts, Run, RunState, RunSummary } from './run.ts';
import { type RunSummaryRow, toRunSummary } from './run-row.ts';
import type { RunKey } from './run-store.ts';

export interface RunFilters extends Pick<RunKey, 'projectId' | 'promptId'> {
  status?: RunState | undefined;
  outcome?: NonNullable<Run['outcome']> | undefined;
  algorithm?: string | undefined;
}

/** A run with how many candidates have which status. */
export interface ListedRun {
  run: RunSummary;
  counts: CandidateCounts;
}

const columns = [
  ...['id', 'project_id', 'prompt_id', 'base_version', 'state', 'outcome', 'finish_reason', 'applied_version'],
  ...['applied_candidate_id', 'created_by_type', 'created_by_id', 'created_at', 'started_at', 'finished_at'],
  ...['used_calls', 'used_nano_usd', 'task_calls', 'reflect_calls', 'judge_calls', 'input_tokens', 'output_tokens'],
  'usage_estimated',
];
/** What lists show of large values: a config has metrics and guidance, a decision has hundreds of candidates. */
const membersOfLarge = `json_build_object('algorithm', algorithm) as config,
  json_build_object('estimated_cost_usd', plan->'estimated_cost_usd') as plan,
  case when decision is not null then json_build_object('score', decision->'score', 'delta', decision->'delta') end as decision,
  json_build_object('fraction', progress->'fraction') as progress`;

/** Lists runs of a prompt by their creation. Ids sort by it. */
export async function listRuns(
  postgres: Postgres,
  filters: RunFilters,
  { direction, afterId, limit }: { direction: 'asc' | 'desc'; afterId: string | undefined; limit: number },
): Promise<ListedRun[]> {
  const query = matching(postgres, filters).orderBy('id', direction).limit(limit);
  if (afterId !== undefined) query.where('id', direction === 'desc' ? '<' : '>', afterId);
  const rows = await query.select<RunSummaryRow[]>(...columns, postgres.raw(membersOfLarge));
  const counts = await countCandidates(
    postgres,
    filters.projectId,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({ run: toRunSummary(row), counts: counts.get(row.id) ?? {} }));
}

/** Counts the runs that match filters. */
export async function countRuns(postgres: Postgres, filters: RunFilters): Promise<number> {
  const row = await matching(postgres, filters).first<{ count: number } | undefined>(
    postgres.raw('count(*)::int as count'),
  );
  return row?.count ?? 0;
}

function matching(postgres: Postgres, { projectId, promptId, ...filters }: RunFilters) {
  const query = postgres('optimization_runs').where({ project_id: projectId, prompt_id: promptId });
  if (filters.status !== undefined) query.where('state', filters.status);
  if (filters.outcome !== undefined) query.where('outcome', filters.outcome);
  if (filters.algorithm !== undefined) query.where('algorithm', filters.algorithm);
  return query;
}

/** Counts the candidates of runs by their status. */
export async function countCandidates(
  postgres: Postgres,
  projectId: ProjectId,
  runIds: readonly string[],
): Promise<Map<string, CandidateCounts>> {
  if (runIds.length === 0) return new Map();
  const rows = await postgres('optimization_candidates')
    .where('project_id', projectId)
    .whereIn('run_id', runIds)
    .groupBy('run_id', 'status')
    .select<{ run_id: string; status: CandidateStatus; count: number; proposed: number }[]>(
      ...['run_id', 'status', postgres.raw('count(*)::int as count')],
      postgres.raw(`count(*) filter (where origin <> 'seed')::int as proposed`),
    );
  const byRun = new Map<string, CandidateCounts>();
  for (const { run_id, status, count, proposed } of rows) {
    const counts = byRun.get(run_id) ?? {};
    byRun.set(run_id, { ...counts, [status]: count, proposed: (counts.proposed ?? 0) + proposed });
  }
  return byRun;
}

import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { Run, RunState, RunSummary } from './run.ts';

/** What is read of a run for lists. */
export interface RunSummaryRow extends Pick<RunSummary, 'config' | 'plan' | 'decision' | 'progress' | 'outcome'> {
  id: string;
  project_id: ProjectId;
  prompt_id: string;
  base_version: number;
  state: RunState;
  finish_reason: Run['finishReason'];
  created_by_type: string;
  created_by_id: string | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  applied_version: number | null;
  applied_candidate_id: string | null;
  used_calls: number;
  used_nano_usd: string;
  task_calls: number;
  reflect_calls: number;
  judge_calls: number;
  input_tokens: string;
  output_tokens: string;
  usage_estimated: boolean;
}

/** A whole row of a run. */
export interface RunRow extends RunSummaryRow {
  workspace_id: WorkspaceId;
  config: Run['config'];
  options: Run['options'];
  plan: Run['plan'];
  error: Run['error'];
  warnings: Run['warnings'];
  decision: Run['decision'];
  progress: Run['progress'];
  score_history: Run['scoreHistory'];
  revision: number;
  budget_reservation_id: string | null;
  attempt: number;
  losses: number;
  limit_nano_usd: string | null;
}

/** Converts a row to a run. */
export function toRun(row: RunRow): Run {
  const { config, options, plan, error, warnings, decision, progress, revision, attempt, losses } = row;
  return {
    ...toRunSummary(row),
    ...{ config, options, plan, error, warnings, decision, progress, revision, attempt, losses },
    workspaceId: row.workspace_id,
    scoreHistory: row.score_history,
    reservationId: row.budget_reservation_id,
    costLimitNanoUsd: row.limit_nano_usd === null ? null : BigInt(row.limit_nano_usd),
  };
}

/** Converts a row to what lists show of a run. */
export function toRunSummary(row: RunSummaryRow): RunSummary {
  const { id, config, plan, state, outcome, decision, progress } = row;
  return {
    ...{ id, config, plan, state, outcome, decision, progress },
    projectId: row.project_id,
    promptId: row.prompt_id,
    baseVersion: row.base_version,
    finishReason: row.finish_reason,
    createdBy: { type: row.created_by_type, id: row.created_by_id },
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    appliedVersion: row.applied_version,
    appliedCandidateId: row.applied_candidate_id,
    usage: {
      calls: row.used_calls,
      taskCalls: row.task_calls,
      reflectCalls: row.reflect_calls,
      judgeCalls: row.judge_calls,
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      costNanoUsd: BigInt(row.used_nano_usd),
      estimated: row.usage_estimated,
    },
  };
}

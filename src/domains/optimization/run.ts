import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type {
  CandidateStatus,
  Decision,
  FinishReason,
  Outcome,
  Progress,
  RunErrorCode,
  SearchConfig,
} from '../prompt-search/index.ts';
import type { PartPick } from '../rendering/index.ts';

export const runStates = ['queued', 'running', 'cancelling', 'completed', 'failed', 'cancelled'] as const;
export type RunState = (typeof runStates)[number];
export const activeStates = ['queued', 'running', 'cancelling'] as const satisfies readonly RunState[];
export const outcomes = ['improved', 'no_improvement', 'inconclusive', 'already_optimal'] as const;
/** Calls of one run, also of one whose owner sets no `max_calls`. */
export const callsMax = 100_000;
export const algorithms = ['reflective', 'meta_prompt', 'few_shot'] as const;

export interface RunWarning {
  code: string;
  message: string;
}

/** What a run is expected to take. Money is a decimal string. */
export interface RunPlan {
  /** `unused`: rows of the holdout that it has no room for, and that no run searches with. */
  rows: { train: number; val: number; holdout: number; dropped: number; unused: number };
  estimated_proposals: [number, number];
  estimated_cost_usd: [string, string] | null;
  reserved_for_holdout_calls: number;
}

/** Settings of a run that the search does not need, in the form of the API. */
export interface RunOptions {
  apply: 'never' | 'if_improved';
  dataset_source: 'inline' | 'executions';
  dataset_filter: {
    from?: string | undefined;
    to?: string | undefined;
    feedback: 'any' | 'positive' | 'negative' | 'corrected';
    limit: number;
  } | null;
  holdout_fraction: number;
  /** A hash of the keys of the holdout; null without one. */
  holdout_id: string | null;
  /** The versions of the parts that the base had when the run was made. Absent in runs of an older version. */
  part_picks?: readonly PartPick[];
  /** Upper estimate of what the models with a price cost. Absent in runs of an older version. */
  priced_cost_usd?: string;
}

export interface RunProgress extends Progress {
  /** Share of the calls that are made, from 0 to 1. It never decreases. */
  fraction: number;
  updatedAt: string;
  /** Milliseconds after its beginning in which no worker had the run. Absent if always one had it. */
  idleMs?: number;
}

export interface Run {
  id: string;
  workspaceId: WorkspaceId;
  projectId: ProjectId;
  promptId: string;
  baseVersion: number;
  config: SearchConfig;
  options: RunOptions;
  plan: RunPlan;
  state: RunState;
  outcome: Outcome | null;
  finishReason: FinishReason | 'cancelled' | 'error' | null;
  error: { code: RunErrorCode; message: string } | null;
  warnings: readonly RunWarning[];
  decision: Decision | null;
  progress: RunProgress;
  scoreHistory: readonly { call: number; best_val: number }[];
  createdBy: { type: string; id: string | null };
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  revision: number;
  appliedVersion: number | null;
  appliedCandidateId: string | null;
  reservationId: string | null;
  attempt: number;
  losses: number;
  /** `max_cost_usd`, otherwise what the run has reserved of a budget that blocks; null is no limit. */
  costLimitNanoUsd: bigint | null;
  usage: RunUsage;
}

/** What lists show of a run. */
export interface RunSummary
  extends Pick<Run, 'id' | 'projectId' | 'promptId' | 'baseVersion' | 'state' | 'outcome' | 'finishReason' | 'usage'>,
    Pick<Run, 'createdBy' | 'createdAt' | 'startedAt' | 'finishedAt' | 'appliedVersion' | 'appliedCandidateId'> {
  config: Pick<SearchConfig, 'algorithm'>;
  plan: Pick<RunPlan, 'estimated_cost_usd'>;
  decision: Pick<Decision, 'score' | 'delta'> | null;
  progress: Pick<RunProgress, 'fraction'>;
}

export interface RunUsage {
  calls: number;
  taskCalls: number;
  reflectCalls: number;
  judgeCalls: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: bigint;
  estimated: boolean;
}

/** Returns the entity tag of a response that shows the whole run. */
export function runTag({ id, revision, usage }: Pick<Run, 'id' | 'revision' | 'usage'>): string {
  return `${id}.${revision}.${usage.calls}`;
}

/** Returns the tag of a response that lacks the diff for lack of time. The diff can come later. */
export function partialRunTag(run: Pick<Run, 'id' | 'revision' | 'usage'>): string {
  return `${runTag(run)}.partial`;
}

/** Candidates by status. Without the seed, `proposed` are all of them. */
export type CandidateCounts = Partial<Record<CandidateStatus | 'proposed', number>>;

/** Returns whether a run has not ended. */
export function isActive({ state }: Pick<Run, 'state'>): boolean {
  return activeStates.some((each) => each === state);
}

/** Creates the error for an unknown run. A run of another project or prompt gets the same error. */
export function unknownRun(id: string): NotFoundError {
  return new NotFoundError('run_not_found', `This prompt has no optimization run ${JSON.stringify(id.slice(0, 80))}.`);
}

/** Creates the error for an operation that only an ended run allows. */
export function notTerminal({ id, state }: Pick<Run, 'id' | 'state'>): ConflictError {
  return new ConflictError('run_not_terminal', `The run ${id} is ${state}. Cancel it, or wait until it has ended.`);
}

import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { recordAudit } from '../audit/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import { type Acting, addVersion, type Collection, type Item, type ItemCache } from '../versioned/index.ts';
import { findCandidate, type StoredCandidate } from './candidate-store.ts';
import { withText } from './candidate-texts.ts';
import { Cancelled, type Lease, LeaseLost } from './lease.ts';
import { lockUnder } from './progress-store.ts';
import { isActive, notTerminal, type Run, unknownRun } from './run.ts';
import { findRun, lockRun, storeApplied } from './run-store.ts';

export interface ApplyRunDeps {
  postgres: Postgres;
  collection: Collection<PromptContent>;
  prompts: Pick<ItemCache<PromptContent>, 'read' | 'readVersion'>;
}

export interface Applied {
  version: number;
  candidateId: string;
  /** False if an earlier call has made the version. */
  isNew: boolean;
}

/**
 * Makes a version of a candidate of an ended run, by default of its winner. A second call gets the
 * version of the first.
 * @throws NotFoundError `run_not_found`, `candidate_not_found`, `prompt_not_found`
 * @throws ConflictError `run_not_terminal`, `base_version_changed`, `nothing_to_apply`
 */
export async function applyRun(
  deps: ApplyRunDeps,
  {
    promptId,
    runId,
    candidateId,
    force,
    ...acting
  }: Acting & {
    promptId: string;
    runId: string;
    candidateId: string | undefined;
    force: boolean;
  },
): Promise<Applied> {
  const run = await findRun(deps.postgres, { projectId: acting.project.projectId, promptId, id: runId });
  if (run === undefined) throw unknownRun(runId);
  if (isActive(run)) throw notTerminal(run);
  const wanted = candidateId ?? run.decision?.winnerId ?? run.progress.bestCandidateId;
  if (wanted === null) throw nothingToApply(run, 'It ended before it had a candidate');
  return applyCandidate(deps, { ...acting, run, candidateId: wanted, force });
}

/**
 * Makes a version of a candidate, as {@link applyRun} does. With a lease, the run must be in progress
 * under it when the version is made.
 * @throws LeaseLost, Cancelled, and what {@link applyRun} throws
 */
export async function applyCandidate(
  deps: ApplyRunDeps,
  {
    run,
    lease,
    candidateId,
    force,
    ...acting
  }: Acting & { run: Run; lease?: Lease; candidateId: string; force: boolean },
): Promise<Applied> {
  const { postgres, collection, prompts } = deps;
  const candidate = await findCandidate(postgres, { projectId: run.projectId, runId: run.id }, candidateId);
  if (candidate === undefined) throw unknownCandidate(run, candidateId);
  if (candidate.status === 'rejected_invalid') throw nothingToApply(run, `The candidate ${candidateId} is not valid`);
  const item = await prompts.read(run, run.promptId);
  const base = await prompts.readVersion(run, item, run.baseVersion);
  let applied = candidate.id;
  const { version, isNew } = await addVersion(collection, {
    ...acting,
    idOrSlug: run.promptId,
    content: withText(base.content, candidate.content),
    optimizationRunId: run.id,
    commitMessage: `Optimization run ${run.id}, candidate ${candidate.id}`,
    before: async (transaction, current) => {
      const locked = await lockRun(transaction, run);
      if (locked === undefined) throw unknownRun(run.id);
      if (lease !== undefined && !(await lockUnder(transaction, lease))) throw new LeaseLost();
      if (lease !== undefined && locked.state !== 'running') throw new Cancelled();
      applied = locked.appliedCandidateId ?? candidate.id;
      if (locked.appliedVersion === null && !force) requireBase(run, current);
      return locked.appliedVersion ?? undefined;
    },
    after: (transaction, made) => noteApplied(transaction, acting, run, candidate, made),
  });
  return { version, candidateId: applied, isNew };
}

async function noteApplied(
  transaction: Postgres,
  { project, actor }: Acting,
  run: Run,
  { id: candidateId }: StoredCandidate,
  version: number,
): Promise<void> {
  await storeApplied(transaction, run, { version, candidateId });
  await recordAudit(transaction, {
    ...{ workspaceId: project.workspaceId, projectId: project.projectId, actor },
    ...{ action: 'optimization_run.applied', targetType: 'optimization_run', targetId: run.id },
    details: { prompt_id: run.promptId, version, candidate_id: candidateId },
  });
}

/** Creates the error for an unknown candidate of a run. */
export function unknownCandidate({ id }: Pick<Run, 'id'>, candidateId: string): NotFoundError {
  const quoted = JSON.stringify(candidateId.slice(0, 80));
  return new NotFoundError('candidate_not_found', `The run ${id} has no candidate ${quoted}.`);
}

function nothingToApply({ id }: Run, why: string): ConflictError {
  return new ConflictError('nothing_to_apply', `The run ${id} has nothing to apply. ${why}.`);
}

function requireBase({ id, baseVersion }: Run, { latestVersion }: Item): void {
  if (latestVersion === baseVersion) return;
  throw new ConflictError(
    'base_version_changed',
    `The run ${id} started from version ${baseVersion}, but the newest version is ${latestVersion}. Use force to apply it.`,
    { extra: { base_version: baseVersion, current_version: latestVersion } },
  );
}

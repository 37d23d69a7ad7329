import { LRUCache } from 'lru-cache';
import { InvalidError, RateLimitedError, UnavailableError } from '../../lib/errors.ts';
import type { Waiter } from '../../lib/fair-lane-options.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { TemplateThreads } from '../templates/index.ts';
import type { ItemCache } from '../versioned/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { textToWire } from './candidate.schema.ts';
import { findCandidate, findSeed, type StoredCandidate } from './candidate-store.ts';
import { type Run, unknownRun } from './run.ts';
import type { Best } from './run-detail.schema.ts';
import { findRun } from './run-store.ts';

export interface ReadRunDeps {
  postgres: Postgres;
  prompts: Pick<ItemCache<PromptContent>, 'find' | 'read'>;
  threads: TemplateThreads;
  diffs: LRUCache<string, string>;
}

export interface RunPath {
  project: ProjectScope;
  /** Of the prompt. */
  idOrSlug: string;
  runId: string;
}

const diffMsMax = 2_000;

/** Creates the cache of diffs. Hashes name the texts, so nothing in it becomes invalid. */
export function createDiffs(): ReadRunDeps['diffs'] {
  return new LRUCache({ max: 500, maxSize: 8 * 1024 * 1024, sizeCalculation: (diff) => diff.length + 1 });
}

/**
 * Finds a run. Those of a deleted prompt are found by the id of the prompt.
 * @throws NotFoundError `run_not_found`, or `prompt_not_found` if there is neither
 */
export async function readRun(deps: Pick<ReadRunDeps, 'postgres' | 'prompts'>, path: RunPath): Promise<Run> {
  const { project, idOrSlug, runId } = path;
  const prompt = await deps.prompts.find(project, idOrSlug);
  const key = { projectId: project.projectId, promptId: prompt?.id ?? idOrSlug, id: runId };
  const run = await findRun(deps.postgres, key);
  if (run !== undefined) return run;
  await deps.prompts.read(project, idOrSlug);
  throw unknownRun(runId);
}

/** Returns the winner of a run, or its best candidate so far. */
export async function readBest(deps: ReadRunDeps, run: Run, waiter: Waiter): Promise<Best | undefined> {
  const id = run.decision?.winnerId ?? run.progress.bestCandidateId;
  const candidate = id === null ? undefined : await findCandidate(deps.postgres, refOf(run), id);
  if (candidate === undefined) return undefined;
  return { candidate, diff: await diffFromSeed(deps, run, { candidate, waiter }) };
}

/** Returns the unified diff from the prompt as it was; null if there is no time for it now. */
export async function diffFromSeed(
  { postgres, threads, diffs }: ReadRunDeps,
  run: Run,
  { candidate, waiter }: { candidate: StoredCandidate; waiter: Waiter },
): Promise<string | null> {
  const seed = candidate.origin === 'seed' ? candidate : await findSeed(postgres, refOf(run));
  if (seed === undefined) return null;
  const key = `${seed.hash} ${candidate.hash}`;
  const known = diffs.get(key);
  if (known !== undefined) return known;
  try {
    const contents = { from: textToWire(seed.content), to: textToWire(candidate.content) };
    const { text } = await threads.of(run.workspaceId, waiter).run('diff', contents, diffMsMax);
    diffs.set(key, text);
    return text;
  } catch (error) {
    if (isPassing(error)) return null;
    throw error;
  }
}

/** Returns the reference of a run in statements. */
export const refOf = ({ projectId, id }: Run) => ({ projectId, runId: id });

const isPassing = (error: unknown) =>
  [RateLimitedError, UnavailableError, InvalidError].some((passing) => error instanceof passing);

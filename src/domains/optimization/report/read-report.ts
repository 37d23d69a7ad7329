import type { Postgres } from '../../../stores/postgres/client.ts';
import type { WorkspaceThreads } from '../../templates/index.ts';
import { findCandidate, findSeed, listCandidates, type StoredCandidate } from '../candidate-store.ts';
import { type Run, unknownRun } from '../run.ts';
import { findRun, type RunKey } from '../run-store.ts';
import { shownCandidatesMax } from './lineage-section.ts';
import type { Report, WorstRows } from './report-data.ts';
import { findWorstRows } from './worst-rows-store.ts';

const worstRowsMax = 8;
/** Comparing two of the largest prompts takes about 300 ms. */
const diffMsMax = 2_000;

/**
 * Reads what the report of a run shows.
 * @throws NotFoundError `run_not_found`
 * @throws RateLimitedError, UnavailableError, TemplateLimitError of the thread that compares the texts
 */
export async function readReport(
  { postgres, threads }: { postgres: Postgres; threads: WorkspaceThreads },
  key: RunKey,
): Promise<Omit<Report, 'promptName'>> {
  const run = await findRun(postgres, key);
  if (run === undefined) throw unknownRun(key.id);
  const ref = { projectId: run.projectId, runId: run.id };
  const bestId = run.decision?.winnerId ?? run.progress.bestCandidateId;
  const [seed, best, { candidates, hasMore }] = await Promise.all([
    findSeed(postgres, ref),
    bestId === null ? undefined : findCandidate(postgres, ref, bestId),
    listCandidates(postgres, ref, { after: undefined, limit: shownCandidatesMax }),
  ]);
  return {
    ...{ run, best, candidates, hasMoreCandidates: hasMore },
    diff: await diffOf(threads, seed, best),
    rows: await worstRowsOf(postgres, run, seed, best),
  };
}

async function diffOf(
  threads: WorkspaceThreads,
  seed: StoredCandidate | undefined,
  best: StoredCandidate | undefined,
): Promise<string> {
  if (seed === undefined || best === undefined || seed.id === best.id) return '';
  const { text } = await threads.run('diff', { from: { ...seed.content }, to: { ...best.content } }, diffMsMax);
  return text;
}

async function worstRowsOf(
  postgres: Postgres,
  run: Run,
  seed: StoredCandidate | undefined,
  best: StoredCandidate | undefined,
): Promise<WorstRows> {
  const split = run.decision?.score?.split === 'holdout' ? 'holdout' : 'val';
  if (seed === undefined || best === undefined) return { split, before: [], after: [] };
  const ref = { projectId: run.projectId, runId: run.id };
  const compared = { base: seed.hash, best: best.hash, split, limit: worstRowsMax };
  const [before, after] = await Promise.all([
    findWorstRows(postgres, ref, { ...compared, by: 'before' }),
    findWorstRows(postgres, ref, { ...compared, by: 'after' }),
  ]);
  return { split, before, after };
}

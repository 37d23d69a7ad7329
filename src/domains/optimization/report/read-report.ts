import type { Waiter } from '../../../lib/fair-lane-options.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { findSeed, type StoredCandidate } from '../candidate-store.ts';
import { type ReadRunDeps, type RunPath, readBest, readRun, refOf } from '../read-run.ts';
import type { Run } from '../run.ts';
import { shownCandidatesMax } from './lineage-section.ts';
import type { Report, WorstRows } from './report-data.ts';
import { findWorstRows, listShownCandidates } from './report-store.ts';

const worstRowsMax = 8;

/**
 * Reads what the report of a run shows.
 * @throws NotFoundError `run_not_found`, `prompt_not_found`
 */
export async function readReport(deps: ReadRunDeps, path: RunPath, waiter: Waiter): Promise<Report> {
  const run = await readRun(deps, path);
  const [prompt, seed, best, candidates] = await Promise.all([
    deps.prompts.find(path.project, run.promptId),
    findSeed(deps.postgres, refOf(run)),
    readBest(deps, run, waiter),
    listShownCandidates(deps.postgres, refOf(run), shownCandidatesMax + 1),
  ]);
  return {
    promptName: prompt?.name ?? run.promptId,
    run,
    candidates: candidates.slice(0, shownCandidatesMax),
    hasMoreCandidates: candidates.length > shownCandidatesMax,
    bestId: best?.candidate.id,
    diff: best === undefined ? '' : best.diff,
    rows: await worstRowsOf(deps.postgres, run, { seed, best: best?.candidate }),
  };
}

async function worstRowsOf(
  postgres: Postgres,
  run: Run,
  { seed, best }: { seed: StoredCandidate | undefined; best: StoredCandidate | undefined },
): Promise<WorstRows> {
  const split = run.decision?.score?.split === 'holdout' ? 'holdout' : 'val';
  if (seed === undefined || best === undefined) return { split, before: [], after: [] };
  const compared = { base: seed.hash, best: best.hash, split, limit: worstRowsMax };
  const [before, after] = await Promise.all([
    findWorstRows(postgres, refOf(run), { ...compared, by: 'before' }),
    findWorstRows(postgres, refOf(run), { ...compared, by: 'after' }),
  ]);
  return { split, before, after };
}

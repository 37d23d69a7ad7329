import { compareScores, decideOutcome } from './decide.ts';
import { evaluateBase } from './evaluate-base.ts';
import { evaluateHoldout } from './evaluate-holdout.ts';
import { paretoFrontier } from './pareto-frontier.ts';
import type { Candidate, Decision, FinishReason, Optimize, SearchConfig } from './ports.ts';
import { LimitReached, RunFailed } from './ports.ts';
import { reserveHoldout } from './reserve-holdout.ts';
import { searchByMetaPrompt } from './search-by-meta-prompt.ts';
import { searchFewShot } from './search-few-shot.ts';
import { searchReflective } from './search-reflective.ts';
import { bestOf, reportProgress, type SearchRun } from './search-run.ts';
import { startSearch } from './start-search.ts';

/** Searches for better candidates until something ends it. */
export type SearchAlgorithm = (run: SearchRun) => Promise<FinishReason>;

/** Every algorithm. To add one, add a file and a row. */
export const algorithms: Readonly<Record<SearchConfig['algorithm'], SearchAlgorithm>> = {
  reflective: searchReflective,
  meta_prompt: searchByMetaPrompt,
  few_shot: searchFewShot,
};

const noDelta: Decision['delta'] = {
  ...{ promptTokens: null, outputTokens: null, costPer1kCallsUsd: null, latencyMsP50: null, latencyMsP95: null },
};

/**
 * Searches for a better prompt, and decides on rows that the search has not seen. A limit ends the search,
 * not the run: the decision follows in any case, and uses what was kept for it.
 * @throws RunFailed; the reason of `ports.signal` once it is aborted
 */
export const optimize: Optimize = (ports, input) => searchBy(algorithms[input.config.algorithm])(ports, input);

/** Returns {@link optimize} with an algorithm that the config does not choose. */
export function searchBy(search: SearchAlgorithm): Optimize {
  return async (ports, input) => {
    const run = await startSearch(ports, input);
    await reserveHoldout(run);
    const decision = await decide(run, await searchUntilLimit(run, search));
    run.phase = 'finalizing';
    await reportProgress(run);
    return decision;
  };
}

async function decide(run: SearchRun, finishReason: FinishReason): Promise<Decision> {
  const [base, winner] = [run.pool[0], bestOf(run)];
  if (base === undefined || winner === undefined) throw new RangeError('The pool is empty');
  const found = { finishReason, winnerId: winner.id, frontier: paretoFrontier(run) };
  if (finishReason === 'perfect' && run.pool.length === 1) return { ...found, ...(await alreadyOptimal(run, base)) };
  const isSeed = winner.hash === base.hash;
  if (run.rows.holdout.length === 0) {
    requireAnyScore(run, base, finishReason);
    return { ...found, score: null, delta: noDelta, outcome: isSeed ? 'no_improvement' : 'inconclusive' };
  }
  const { score, delta, isComplete } = await evaluateHoldout(run, base, winner);
  requireAnyScore(run, base, finishReason);
  const { minEffect } = run.config;
  return { ...found, score, delta, outcome: decideOutcome(score, { isSeed, isComplete, minEffect }) };
}

/** @throws RunFailed if the time of the run ended before the base got a score on any row */
function requireAnyScore(run: SearchRun, base: Candidate, finishReason: FinishReason): void {
  const rows = [...run.rows.val, ...run.rows.holdout];
  if (finishReason !== 'duration' || run.evaluator.scoresOf(base.hash, rows).length > 0) return;
  const error = rows.flatMap(({ key }) => run.evaluator.samplesOf(base.hash, key)).find((each) => each.error)?.error;
  const last = error === undefined || error === null ? '' : ` The first error: ${error}`;
  throw new RunFailed('evaluation_failed', `No call of the base was answered within the time of the run.${last}`);
}

async function searchUntilLimit(run: SearchRun, search: SearchAlgorithm): Promise<FinishReason> {
  try {
    const base = await evaluateBase(run);
    if (isPerfect(run, base)) return 'perfect';
    run.phase = 'search';
    await reportProgress(run);
    return await search(run);
  } catch (error) {
    if (error instanceof LimitReached) return error.reason;
    throw error;
  }
}

const isPerfect = (run: SearchRun, { val }: Candidate) => val?.mean === 1 && val.n > 0 && val.n === run.rows.val.length;

/** No candidate was chosen by these rows, so the score of the base on them is not optimistic. */
async function alreadyOptimal(run: SearchRun, base: Candidate) {
  const scores = run.evaluator.scoresOf(base.hash, run.rows.val).map(({ score }) => ({ base: score, best: score }));
  const score = await compareScores(scores, { seed: run.config.seed, split: 'val' });
  return { outcome: 'already_optimal', score, delta: noDelta } as const;
}

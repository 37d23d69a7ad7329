import { compareUse } from './compare-use.ts';
import { compareScores, type Score } from './decide.ts';
import { type Candidate, type Decision, LimitReached, RunFailed } from './ports.ts';
import { reportProgress, type SearchRun } from './search-run.ts';

/** The share of rows without a pair above which an improvement is not claimed. */
const missingShareMax = 0.2;

export interface HoldoutResult {
  score: Score | null;
  delta: Decision['delta'];
  /** False if too many rows have no pair. */
  isComplete: boolean;
}

/**
 * Runs base and winner on the rows of the holdout, once, and compares them on the rows where both
 * have a score. The base runs as well when it is the winner.
 * @throws RunFailed if no row could be scored because of errors
 */
export async function evaluateHoldout(run: SearchRun, base: Candidate, winner: Candidate): Promise<HoldoutResult> {
  const { holdout } = run.rows;
  run.phase = 'holdout';
  await reportProgress(run);
  const candidates = winner.hash === base.hash ? [base] : [base, winner];
  const limit = await run.evaluator.evaluatePaired(candidates, holdout).catch((error) => {
    if (error instanceof LimitReached) return error;
    throw error;
  });
  const { evaluator, config } = run;
  const paired = holdout.flatMap(({ key }) => {
    const [before, after] = [evaluator.scoreOf(base.hash, key), evaluator.scoreOf(winner.hash, key)];
    return typeof before === 'number' && typeof after === 'number' ? [{ key, base: before, best: after }] : [];
  });
  const missing = holdout.length - paired.length;
  const error = holdout
    .flatMap(({ key }) => candidates.flatMap(({ hash }) => evaluator.samplesOf(hash, key)))
    .find((sample) => sample.error !== null)?.error;
  if (paired.length === 0 && limit === undefined && error) {
    throw new RunFailed('evaluation_failed', `No row of the holdout was scored: ${error}`);
  }
  if (missing > 0) {
    const reason = limit === undefined ? `of errors, such as ${error}` : 'the limits of the run were reached';
    const message = `${missing} of ${holdout.length} rows of the holdout were not compared, because ${reason}`;
    await run.ports.emit({ type: 'warning', code: 'holdout_incomplete', message });
  }
  const samples = (hash: string, key: string) => evaluator.samplesOf(hash, key).filter((each) => each.error === null);
  const uses = paired.map(({ key }) => ({ base: samples(base.hash, key), best: samples(winner.hash, key) }));
  return {
    score: paired.length === 0 ? null : await compareScores(paired, { seed: config.seed, split: 'holdout' }),
    delta: await compareUse(uses, config.seed),
    isComplete: missing <= missingShareMax * holdout.length,
  };
}

import { addToPool } from './add-to-pool.ts';
import type { Candidate, Row } from './ports.ts';
import { LimitReached } from './ports.ts';
import { bestOf, reportProgress, type SearchRun, scoreOn } from './search-run.ts';

const blockRows = 5;
/** A candidate that is behind by more than this times the root of the rows is dropped. */
const behindMax = 0.5;

/**
 * Runs a candidate on the validation rows in blocks, and drops it once it is clearly behind the best.
 * @returns the candidate with its status: in the pool, or raced out
 * @throws LimitReached after what was paid is kept; RunFailed
 */
export async function raceCandidate(run: SearchRun, candidate: Candidate): Promise<Candidate> {
  const best = bestOf(run);
  const { val } = run.rows;
  for (let at = 0; at < val.length; at += blockRows) {
    const isSound = await evaluateOrFinish(run, candidate, val.slice(at, at + blockRows));
    if (!isSound) return await finish(run, candidate, 'raced_out', tooManyErrors);
    const [done, isLast] = [val.slice(0, at + blockRows), at + blockRows >= val.length];
    const behind = best === undefined ? 0 : behindBy(run, candidate, best, done);
    if (!isLast && behind > behindMax * Math.sqrt(done.length)) {
      const reason = `It was behind by ${behind.toFixed(2)} after ${done.length} rows.`;
      return await finish(run, candidate, 'raced_out', reason);
    }
  }
  return await finish(run, candidate, 'pool', null);
}

export const tooManyErrors = 'Too many rows had an error.';
export const limitReached = 'The limit of the run was reached.';

/**
 * Runs a candidate on rows. If a limit does not allow all of them, the candidate keeps its scores and is out.
 * @returns false if the batch is void
 * @throws LimitReached, RunFailed
 */
export async function evaluateOrFinish(run: SearchRun, candidate: Candidate, rows: readonly Row[]): Promise<boolean> {
  try {
    return await run.evaluator.evaluate(candidate, rows);
  } catch (error) {
    if (error instanceof LimitReached) await finish(run, candidate, 'raced_out', limitReached);
    throw error;
  }
}

function behindBy(run: SearchRun, candidate: Candidate, best: Candidate, rows: readonly Row[]): number {
  return rows.reduce((sum, { key }) => {
    const [own, other] = [run.evaluator.scoreOf(candidate.hash, key), run.evaluator.scoreOf(best.hash, key)];
    return typeof own === 'number' && typeof other === 'number' ? sum + other - own : sum;
  }, 0);
}

/** Settles what became of a candidate and reports it. */
export async function finish(
  run: SearchRun,
  candidate: Candidate,
  status: Candidate['status'],
  rejectReason: string | null,
): Promise<Candidate> {
  const before = bestOf(run)?.val?.mean ?? Number.NEGATIVE_INFINITY;
  const finished = { ...candidate, status, rejectReason, val: scoreOn(run, candidate, run.rows.val) };
  if (status === 'pool') addToPool(run, finished);
  await run.ports.emit({ type: 'candidate', candidate: finished });
  const bestVal = bestOf(run)?.val?.mean ?? Number.NEGATIVE_INFINITY;
  if (bestVal > before) await run.ports.emit({ type: 'score', call: run.calls, bestVal });
  await reportProgress(run);
  return finished;
}

import { chooseBatch, rowsToShow } from './choose-batch.ts';
import { chooseParent } from './choose-parent.ts';
import type { Candidate, FinishReason, Row } from './ports.ts';
import { proposeCandidate } from './propose-candidate.ts';
import { evaluateOrFinish, finish, raceCandidate, tooManyErrors } from './race-candidate.ts';
import { bestOf, type SearchRun, scoreOn } from './search-run.ts';
import { stopReason } from './stop-reason.ts';

/** Rejected candidates in a row after which the prompt is written anew. */
const rejectedBeforeRestart = 6;
/** The batch decides first only where the validation rows cost far more. */
const gateFromBatches = 3;

/**
 * Changes candidates by what a model says of their failures (GEPA, arXiv 2507.19457): a child that does
 * better on the batch is evaluated on the validation rows.
 * @throws LimitReached, RunFailed, and the reason of the signal
 */
export async function searchReflective(run: SearchRun): Promise<FinishReason> {
  let rejected = 0;
  let stale = 0;
  for (;;) {
    const reason = await stopReason(run, stale);
    if (reason !== undefined) return reason;
    run.iteration++;
    const before = bestOf(run)?.id;
    const isRestart = rejected >= rejectedBeforeRestart;
    const outcome = await improveOnce(run, isRestart);
    if (outcome === 'nothing_to_learn' && isPerfect(run)) return 'perfect';
    if (outcome === 'pool' || isRestart) rejected = 0;
    else if (outcome !== 'nothing_to_learn') rejected++;
    stale = bestOf(run)?.id === before ? stale + 1 : 0;
  }
}

async function improveOnce(run: SearchRun, isRestart: boolean): Promise<Candidate['status'] | 'nothing_to_learn'> {
  const best = bestOf(run);
  const parent = isRestart && best !== undefined ? best : chooseParent(run);
  const batch = await chooseBatch(run, parent);
  if (!batch.isUseful) return 'nothing_to_learn';
  const shown = rowsToShow(run, parent, batch.rows);
  const child = await proposeCandidate(run, { parent, shown, origin: isRestart ? 'restart' : 'reflect', slot: 0 });
  if (child === undefined) return 'rejected_invalid';
  const isGated = run.rows.val.length > gateFromBatches * run.config.search.minibatchSize;
  if (!isGated || run.refusedOnce.has(child.hash)) return (await raceCandidate(run, child)).status;
  return (await gateCandidate(run, { parent, child, rows: batch.rows })).status;
}

/**
 * Lets a child on to the validation rows only if it does better than its parent on the batch. A batch is
 * few rows, so a child that it refuses may be proposed once more.
 */
async function gateCandidate(
  run: SearchRun,
  { parent, child, rows }: { parent: Candidate; child: Candidate; rows: readonly Row[] },
): Promise<Candidate> {
  const isSound = await evaluateOrFinish(run, child, rows);
  const both = rows.filter(({ key }) => typeof run.evaluator.scoreOf(child.hash, key) === 'number');
  const before = scoreOn(run, parent, both)?.mean ?? 0;
  const after = scoreOn(run, child, both)?.mean ?? 0;
  const compared = { ...child, minibatch: { before, after } };
  if (isSound && after > before) return await raceCandidate(run, compared);
  run.seen.delete(child.hash);
  run.refusedOnce.add(child.hash);
  const reason = isSound ? 'It is not better on the batch.' : tooManyErrors;
  return await finish(run, compared, 'rejected_gate', reason);
}

/** Returns whether the best has no known failure, on as many training rows as validation rows at least. */
function isPerfect(run: SearchRun): boolean {
  const best = bestOf(run);
  if (best?.val?.mean !== 1) return false;
  const scored = run.evaluator.scoresOf(best.hash, run.rows.train);
  const enough = Math.min(run.rows.train.length, run.rows.val.length);
  return scored.length >= enough && scored.every(({ score }) => score === 1);
}

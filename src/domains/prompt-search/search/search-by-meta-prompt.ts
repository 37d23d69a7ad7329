import { chooseBatch, rowsToShow } from './choose-batch.ts';
import type { Candidate, FinishReason } from './ports.ts';
import { proposeCandidate } from './propose-candidate.ts';
import { raceCandidate } from './race-candidate.ts';
import { bestOf, type SearchRun } from './search-run.ts';
import { stopReason } from './stop-reason.ts';

/** Candidates of a round. Each is proposed from another batch of failures. */
const candidatesPerRound = 4;

/**
 * Asks for several candidates from failures of the best, round by round. The validation rows choose
 * (as in the optimizer of "Large Language Models as Optimizers", arXiv 2309.03409, with failures).
 * @throws LimitReached, RunFailed, and the reason of the signal
 */
export async function searchByMetaPrompt(run: SearchRun): Promise<FinishReason> {
  let stale = 0;
  for (;;) {
    const reason = await stopReason(run, stale);
    if (reason !== undefined) return reason;
    const parent = bestOf(run);
    if (parent === undefined) throw new RangeError('The pool is empty');
    run.iteration++;
    for (let slot = 0; slot < candidatesPerRound; slot++) await improve(run, parent, slot);
    stale = bestOf(run)?.id === parent.id ? stale + 1 : 0;
  }
}

async function improve(run: SearchRun, parent: Candidate, slot: number): Promise<void> {
  const batch = await chooseBatch(run, parent, slot);
  if (!batch.isUseful) return;
  const shown = rowsToShow(run, parent, batch.rows, slot);
  const child = await proposeCandidate(run, { parent, shown, origin: 'meta', slot });
  if (child !== undefined) await raceCandidate(run, child);
}

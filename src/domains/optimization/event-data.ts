import type { Candidate } from '../prompt-search/index.ts';
import { keptText } from './candidate-store.ts';
import type { RunProgress } from './run.ts';

/** Converts the progress of a run to the form of the API. */
export function progressToWire(
  { phase, fraction, bestVal, iteration, updatedAt, bestCandidateId }: RunProgress,
  callsUsed: number,
) {
  return {
    ...{ phase, fraction, calls_used: callsUsed, best_val: bestVal, best_candidate_id: bestCandidateId, iteration },
    updated_at: updatedAt,
  };
}

/** Converts a candidate to the data of its event: without its text, which can be read by its id. */
export function candidateToEvent(candidate: Candidate) {
  const { id, parents, origin, status, iteration, minibatch, val } = candidate;
  return {
    ...{ candidate_id: id, parents: [...parents], origin, status, reject_reason: keptText(candidate.rejectReason) },
    ...{ iteration, minibatch, val },
  };
}

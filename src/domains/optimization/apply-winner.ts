import { AppError, RateLimitedError, UnavailableError } from '../../lib/errors.ts';
import type { AuditActor } from '../audit/index.ts';
import type { Decision } from '../prompt-search/index.ts';
import { type ApplyRunDeps, applyCandidate } from './apply-run.ts';
import type { Lease } from './lease.ts';
import type { Run, RunWarning } from './run.ts';

/**
 * Makes a version of the winner on behalf of the run's creator, while the lease is held and the run
 * is not to be cancelled. A version that cannot be made, as of a prompt that has changed, is a warning. It may run again:
 * a run has one version.
 * @throws UnavailableError, RateLimitedError `workspace_busy`, LeaseLost, Cancelled
 */
export async function applyWinner(
  deps: ApplyRunDeps,
  { run, lease, decision }: { run: Run; lease: Lease; decision: Decision },
): Promise<RunWarning | undefined> {
  const actor = { type: run.createdBy.type as AuditActor['type'], id: run.createdBy.id, requestId: null };
  try {
    await applyCandidate(deps, { project: run, actor, run, lease, candidateId: decision.winnerId, force: false });
    return undefined;
  } catch (error) {
    const isPassing = error instanceof UnavailableError || error instanceof RateLimitedError;
    if (!(error instanceof AppError) || isPassing) throw error;
    return { code: error.code, message: `The winner was not applied. ${error.message}` };
  }
}

import { oneTurn } from '../../../lib/pace.ts';
import type { FinishReason } from './ports.ts';
import { bestOf, callsPerRow, type SearchRun } from './search-run.ts';

/**
 * Returns why the search ends before its next iteration, or undefined. What an iteration takes at
 * least is a proposal, and parent and child on a batch. Other work runs first, because an iteration
 * that makes no call does not wait for anything.
 * @throws the reason of the signal once the run is aborted
 */
export async function stopReason(run: SearchRun, staleIterations: number): Promise<FinishReason | undefined> {
  await oneTurn();
  run.ports.signal.throwIfAborted();
  const { maxIterations, patience, targetScore, minibatchSize } = run.config.search;
  const best = bestOf(run)?.val?.mean ?? 0;
  if (targetScore !== null && best >= targetScore) return 'target_score';
  if (run.iteration >= maxIterations) return 'max_iterations';
  if (staleIterations >= patience) return 'patience';
  const left = run.ports.remaining('search');
  if (left.calls < 2 * minibatchSize * callsPerRow(run) + 1) return 'budget_calls';
  if (left.tokens <= 0) return 'budget_tokens';
  if (left.costNanoUsd !== null && left.costNanoUsd <= 0n) return 'budget_cost';
  return undefined;
}

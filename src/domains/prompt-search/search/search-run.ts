import type { PreparedMetrics } from '../metrics/combine-scores.ts';
import { meanOf } from '../statistics/bootstrap-interval.ts';
import type { Evaluator, Runnable } from './evaluator.ts';
import type { GuardRules } from './guard-candidate.ts';
import type { Candidate, Progress, Row, SearchConfig, SearchPorts } from './ports.ts';
import type { TrainOrder } from './train-order.ts';

/** What the steps of a search share. Everything in it follows from the input and the results of calls. */
export interface SearchRun {
  readonly ports: SearchPorts;
  readonly config: SearchConfig;
  readonly metrics: PreparedMetrics;
  readonly evaluator: Evaluator;
  readonly rules: GuardRules;
  readonly rows: { readonly train: readonly Row[]; readonly val: readonly Row[]; readonly holdout: readonly Row[] };
  readonly trainOrder: TrainOrder;
  /** Candidates that were evaluated on all validation rows, the seed first. `addToPool` bounds it. */
  readonly pool: Candidate[];
  /** The best of the first members of the pool, by so many results of training rows. Use {@link bestOf}. */
  readonly best: { candidate: Candidate | undefined; members: number; trainResults: number };
  /** Hashes of candidates that are not tried again. */
  readonly seen: Set<string>;
  /** Hashes of candidates that a batch refused once. If they are proposed again, the validation rows decide. */
  readonly refusedOnce: Set<string>;
  /** Bad proposals in a row for each message of a chat prompt. */
  readonly messageFaults: Map<number, number>;
  /** Proposals in a row without a readable reply. */
  failedProposals: number;
  /** False once the endpoint refused a request with `response_format` and took one without. */
  asksForJson: boolean;
  iteration: number;
  /** Calls that the search made, for the curve of the score. */
  calls: number;
  phase: Progress['phase'];
}

/** Returns what a candidate scored on rows: their mean by weight and their number; null without a score. */
export function scoreOn(run: SearchRun, { hash }: Pick<Runnable, 'hash'>, rows: readonly Row[]): Candidate['val'] {
  const scored = run.evaluator.scoresOf(hash, rows);
  if (scored.length === 0) return null;
  const weight = scored.reduce((sum, { row }) => sum + row.weight, 0);
  if (weight <= 0) return { mean: meanOf(scored.map(({ score }) => score)), n: scored.length };
  return { mean: scored.reduce((sum, { row, score }) => sum + row.weight * score, 0) / weight, n: scored.length };
}

/** Calls that one run of a candidate on a row takes. */
export function callsPerRow({ config, metrics }: Pick<SearchRun, 'config' | 'metrics'>): number {
  return config.target.samplesPerRow * (1 + metrics.judges);
}

/** Reports where the search is. */
export async function reportProgress(run: SearchRun): Promise<void> {
  const best = bestOf(run);
  const { phase, iteration } = run;
  const progress = { phase, iteration, bestVal: best?.val?.mean ?? null, bestCandidateId: best?.id ?? null };
  await run.ports.emit({ type: 'progress', progress });
}

/**
 * Returns the best candidate of the pool: the highest mean on the validation rows; among equals, the
 * one that does better on the training rows that both ran, then the shorter, then the older.
 */
export function bestOf(run: SearchRun): Candidate | undefined {
  const { best, pool } = run;
  const { trainResults } = run.evaluator;
  // A new result of a training row can decide among equals.
  if (best.trainResults !== trainResults) Object.assign(best, { candidate: undefined, members: 0, trainResults });
  for (const each of pool.slice(best.members)) {
    if (best.candidate === undefined || isBetter(run, each, best.candidate)) best.candidate = each;
  }
  best.members = pool.length;
  return best.candidate;
}

/** Sums of equal scores in different orders differ by this at most. */
const rounding = 1e-9;

function isBetter(run: SearchRun, candidate: Candidate, best: Candidate): boolean {
  const onVal = (candidate.val?.mean ?? 0) - (best.val?.mean ?? 0);
  if (Math.abs(onVal) > rounding) return onVal > 0;
  const onTrain = run.evaluator.trainDifference(candidate.hash, best.hash);
  if (Math.abs(onTrain) > rounding) return onTrain > 0;
  return candidate.promptTokens < best.promptTokens;
}

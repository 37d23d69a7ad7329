import { bootstrapInterval } from '../statistics/bootstrap-interval.ts';
import { mcnemarExact } from '../statistics/mcnemar.ts';
import { meanInterval } from '../statistics/mean-interval.ts';
import type { Decision, Outcome } from './ports.ts';

/** Fewer pairs than this decide nothing. */
const pairsMin = 20;
const pMax = 0.05;

/** The scores of base and winner on one row. */
export interface Pair {
  base: number;
  best: number;
}

export type Score = NonNullable<Decision['score']>;

/**
 * Compares the scores of base and winner: each mean, and the mean of the differences with its bootstrap
 * interval. If every score is 0 or 1, whatever the metrics, the intervals of both are Wilson's, and `p` is that of the
 * exact test of McNemar: with few rows, the bootstrap alone takes chance for a gain too often.
 * @throws RangeError without pairs
 */
export async function compareScores(
  pairs: readonly Pair[],
  { seed, split }: { seed: number; split: Score['split'] },
): Promise<Score> {
  const differences = pairs.map(({ base, best }) => best - base);
  const [base, best] = [pairs.map((pair) => pair.base), pairs.map((pair) => pair.best)];
  const isBinary = [...base, ...best].every((score) => score === 0 || score === 1);
  const gained = differences.filter((difference) => difference > 0).length;
  const lost = differences.filter((difference) => difference < 0).length;
  return {
    split,
    n: pairs.length,
    base: await meanInterval(base, { isBinary, seed }),
    best: await meanInterval(best, { isBinary, seed }),
    delta: { ...(await bootstrapInterval(differences, seed)), p: isBinary ? mcnemarExact(gained, lost) : null },
  };
}

/**
 * Decides whether the winner is better than the base. It is improved only if the interval of the difference
 * is above the least effect and, for scores of 0 and 1, McNemar's p is at most 0.05.
 */
export function decideOutcome(
  score: Score | null,
  { isSeed, isComplete, minEffect }: { isSeed: boolean; isComplete: boolean; minEffect: number },
): Outcome {
  if (score === null) return 'inconclusive';
  if (isSeed) return 'no_improvement';
  if (score.n < pairsMin) return 'inconclusive';
  const { ci95, p } = score.delta;
  if (ci95[0] > minEffect && (p === null || p <= pMax)) return isComplete ? 'improved' : 'inconclusive';
  return ci95[1] <= minEffect ? 'no_improvement' : 'inconclusive';
}

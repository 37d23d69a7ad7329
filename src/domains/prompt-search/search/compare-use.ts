import { bootstrapInterval, quantileOf } from '../statistics/bootstrap-interval.ts';
import type { KnownEvaluation } from './evaluator.ts';
import type { Decision } from './ports.ts';

/** The evaluations of base and winner on one row, of the same number. */
export interface EvaluationPair {
  base: readonly KnownEvaluation[];
  best: readonly KnownEvaluation[];
}

const nanoPerUsd = 1e9;
const callsOfCost = 1_000;

/** Returns how the winner differs from the base in tokens, cost and time, on the same rows. */
export async function compareUse(pairs: readonly EvaluationPair[], seed: number): Promise<Decision['delta']> {
  const interval = async (value: (evaluation: KnownEvaluation) => number | null) => {
    const differences = pairs.flatMap(({ base, best }) => differenceOf(base, best, value));
    return differences.length === 0 ? null : await bootstrapInterval(differences, seed);
  };
  const latencies = (side: keyof EvaluationPair) =>
    pairs.flatMap((pair) => pair[side].map(({ latencyMs }) => latencyMs)).sort((a, b) => a - b);
  const [base, best] = [latencies('base'), latencies('best')];
  const quantile = (share: number) =>
    pairs.length === 0 ? null : Math.round(quantileOf(best, share) - quantileOf(base, share));
  return {
    promptTokens: await interval(({ inputTokens }) => inputTokens),
    outputTokens: await interval(({ outputTokens }) => outputTokens),
    costPer1kCallsUsd: await interval(({ costNanoUsd }) =>
      costNanoUsd === null ? null : (Number(costNanoUsd) / nanoPerUsd) * callsOfCost,
    ),
    latencyMsP50: quantile(0.5),
    latencyMsP95: quantile(0.95),
  };
}

function differenceOf(
  base: readonly KnownEvaluation[],
  best: readonly KnownEvaluation[],
  value: (evaluation: KnownEvaluation) => number | null,
): number[] {
  const mean = (side: readonly KnownEvaluation[]) => {
    const values = side.map(value);
    const known = values.filter((each) => each !== null);
    return known.length < values.length || known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length;
  };
  const [before, after] = [mean(base), mean(best)];
  return before === null || after === null ? [] : [after - before];
}

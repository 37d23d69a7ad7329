import type { z } from 'zod';
import type { comparisonSchema, GroupWire } from './prompt-analytics.schema.ts';
import type { CallSums } from './prompt-analytics-queries.ts';
import { fisherExact, holm, type Sample, welch } from './significance.ts';

/** Below this number of calls of a version nothing is called significant. */
const sampleMin = 30;
const level = 0.05;

/** A version with its sums, as they were read and as JSON. */
export interface Compared {
  sums: CallSums;
  wire: GroupWire;
}

/**
 * Compares version `b` with version `a`. Each measure has its own test, and the p-values are corrected
 * for the number of tests. docs/analytics.md states the assumptions.
 */
export function compareVersions(a: Compared, b: Compared): z.infer<typeof comparisonSchema> {
  const tests = measured.map(({ measure, test, sizeOf, pOf }) => {
    const isEnough = sizeOf(a.sums) >= sampleMin && sizeOf(b.sums) >= sampleMin;
    return { measure, test, p: isEnough ? pOf(a.sums, b.sums) : null };
  });
  const decided = tests.flatMap(({ p }) => (p === null ? [] : p));
  const corrected = holm(decided);
  let next = 0;
  const judged = tests.map(({ measure, test, p }) => {
    const pValue = p === null ? null : (corrected[next++] ?? 1);
    return { measure, test, p_value: pValue, significant: pValue !== null && pValue < level };
  });
  return {
    a: a.wire,
    b: b.wire,
    deltas: deltasOf(a.wire, b.wire),
    sample_sizes: { a: a.sums.executions, b: b.sums.executions },
    significant: judged.some(({ significant }) => significant),
    tests: judged,
  };
}

const logSample = (size: number, sum: number, squares: number): Sample => ({
  size,
  mean: sum / size,
  variance: Math.max(0, (squares - sum ** 2 / size) / (size - 1)),
});
const latencyOf = (sums: CallSums) => logSample(sums.executions, sums.logLatency, sums.logLatencySquares);
const costOf = (sums: CallSums) => logSample(sums.logPriced, sums.logCost, sums.logCostSquares);
const failuresOf = ({ errors, executions }: CallSums) => ({ hits: errors, size: executions });

const measured = [
  {
    measure: 'error_rate',
    test: 'fisher_exact',
    sizeOf: (sums: CallSums) => sums.executions,
    pOf: (a: CallSums, b: CallSums) => fisherExact(failuresOf(a), failuresOf(b)),
  },
  {
    measure: 'latency_ms',
    test: 'welch_t_of_logarithms',
    sizeOf: (sums: CallSums) => sums.executions,
    pOf: (a: CallSums, b: CallSums) => welch(latencyOf(a), latencyOf(b)),
  },
  {
    measure: 'cost',
    test: 'welch_t_of_logarithms',
    sizeOf: (sums: CallSums) => sums.logPriced,
    pOf: (a: CallSums, b: CallSums) => welch(costOf(a), costOf(b)),
  },
] as const;

const compared = {
  error_rate: (of: GroupWire) => of.error_rate,
  latency_p50_ms: (of: GroupWire) => of.latency_ms.p50,
  latency_p95_ms: (of: GroupWire) => of.latency_ms.p95,
  ttft_p50_ms: (of: GroupWire) => of.ttft_ms.p50,
  cost_avg: (of: GroupWire) => (of.cost.avg === null ? null : Number(of.cost.avg)),
  total_tokens_avg: (of: GroupWire) => (of.executions === 0 ? null : of.usage.total_tokens / of.executions),
  feedback_mean: (of: GroupWire) => of.feedback.mean,
  positive_rate: (of: GroupWire) => of.feedback.positive_rate,
} as const;

/** Differences `b` minus `a`, absolute and relative to `a`. */
function deltasOf(a: GroupWire, b: GroupWire) {
  return Object.fromEntries(
    Object.entries(compared).map(([name, read]) => {
      const [from, to] = [read(a), read(b)];
      const absolute = from === null || to === null ? null : to - from;
      return [name, { absolute, relative: absolute === null || from === null || from === 0 ? null : absolute / from }];
    }),
  );
}

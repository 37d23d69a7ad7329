import { meanOf } from '../statistics/bootstrap-interval.ts';
import { leadersByRow } from './choose-parent.ts';
import type { Candidate, Decision } from './ports.ts';
import type { SearchRun } from './search-run.ts';

type Point = Decision['frontier'][number];

/**
 * Returns the candidates of the pool that no other is better than: in score, tokens of the prompt, cost
 * and latency on the validation rows. These rows chose the candidates, so the scores are optimistic.
 */
export function paretoFrontier(run: SearchRun): Point[] {
  const leaders = leadersByRow(run);
  const points = run.pool.flatMap((candidate) => {
    const point = pointOf(run, candidate, leaders);
    return point === undefined ? [] : [point];
  });
  return points.filter((point) => !points.some((other) => other !== point && dominates(other, point)));
}

function pointOf(run: SearchRun, candidate: Candidate, leaders: readonly Candidate[][]): Point | undefined {
  if (candidate.val === null) return undefined;
  const samples = run.rows.val
    .flatMap(({ key }) => run.evaluator.samplesOf(candidate.hash, key))
    .filter(({ error }) => error === null);
  const costs = samples.flatMap(({ costNanoUsd }) => costNanoUsd ?? []);
  return {
    candidateId: candidate.id,
    valScore: candidate.val.mean,
    promptTokens: candidate.promptTokens,
    costNanoUsd: costs.length < samples.length ? null : meanOf(costs.map(Number)),
    latencyMs: meanOf(samples.map(({ latencyMs }) => latencyMs)),
    onFrontForRows: leaders.filter((row) => row.some(({ id }) => id === candidate.id)).length,
  };
}

function dominates(a: Point, b: Point): boolean {
  const better = [
    a.valScore - b.valScore,
    b.promptTokens - a.promptTokens,
    (b.costNanoUsd ?? 0) - (a.costNanoUsd ?? 0),
    b.latencyMs - a.latencyMs,
  ];
  return better.every((by) => by >= 0) && better.some((by) => by > 0);
}

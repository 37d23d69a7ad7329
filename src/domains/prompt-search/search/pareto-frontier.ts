import { meanOf } from '../statistics/bootstrap-interval.ts';
import { leadersByRow, rowsByLeader } from './choose-parent.ts';
import type { Candidate, Decision } from './ports.ts';
import type { SearchRun } from './search-run.ts';

/** What candidates are compared by. */
type Point = Omit<Decision['frontier'][number], 'onFrontForRows'>;

/** A member of the pool was run on all validation rows, so its point stays. */
const points = new WeakMap<Candidate, Point>();

/**
 * Returns the candidates of the pool that no other is better than: in score, tokens of the prompt, cost
 * and latency on the validation rows. These rows chose the candidates, so the scores are optimistic.
 */
export function paretoFrontier(run: SearchRun): Decision['frontier'] {
  const ledBy = rowsByLeader(leadersByRow(run));
  const isBeaten = compareWithPool(run);
  return run.pool.flatMap((candidate) => {
    if (candidate.val === null || isBeaten(candidate)) return [];
    return [{ ...pointOf(run, candidate), onFrontForRows: ledBy.get(candidate)?.length ?? 0 }];
  });
}

/** Returns a function that says whether a candidate of the pool has one in it that is better. */
export function compareWithPool(run: SearchRun): (candidate: Candidate) => boolean {
  const others = run.pool.filter(({ val }) => val !== null).map((each) => pointOf(run, each));
  return (candidate) => {
    const point = pointOf(run, candidate);
    return others.some((other) => dominates(other, point));
  };
}

function pointOf(run: SearchRun, candidate: Candidate): Point {
  const known = points.get(candidate) ?? measure(run, candidate);
  points.set(candidate, known);
  return known;
}

function measure(run: SearchRun, candidate: Candidate): Point {
  const samples = run.rows.val
    .flatMap(({ key }) => run.evaluator.samplesOf(candidate.hash, key))
    .filter(({ error }) => error === null);
  const costs = samples.flatMap(({ costNanoUsd }) => costNanoUsd ?? []);
  return {
    candidateId: candidate.id,
    valScore: candidate.val?.mean ?? 0,
    promptTokens: candidate.promptTokens,
    costNanoUsd: costs.length < samples.length ? null : meanOf(costs.map(Number)),
    latencyMs: meanOf(samples.map(({ latencyMs }) => latencyMs)),
  };
}

const dominates = (a: Point, b: Point) => isNoWorse(a, b) && !isNoWorse(b, a);

function isNoWorse(a: Point, b: Point): boolean {
  const costs = (a.costNanoUsd ?? 0) <= (b.costNanoUsd ?? 0);
  return a.valScore >= b.valScore && a.promptTokens <= b.promptTokens && costs && a.latencyMs <= b.latencyMs;
}

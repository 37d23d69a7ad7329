import { drawIndex, seededDraws } from '../statistics/seeded-draws.ts';
import type { Candidate } from './ports.ts';
import { bestOf, type SearchRun } from './search-run.ts';

/** How often the parent is the best candidate; otherwise it is drawn from the Pareto front. */
const bestShare = 0.5;

/**
 * Chooses the candidate to change next: the best, or one drawn from those that lead on a validation
 * row, in proportion to the rows they lead (GEPA, arXiv 2507.19457, algorithm 2).
 * @throws RangeError if the pool is empty
 */
export function chooseParent(run: SearchRun): Candidate {
  const draw = seededDraws(run.config.seed, 'parent', run.iteration);
  const best = bestOf(run);
  if (best === undefined) throw new RangeError('The pool is empty');
  if (draw() < bestShare) return best;
  const tickets = paretoTickets(run);
  return tickets[drawIndex(draw, tickets.length)] ?? best;
}

/** Returns every candidate on the front once per row that it leads. */
function paretoTickets(run: SearchRun): Candidate[] {
  const leaders = leadersByRow(run);
  const front = new Set(leaders.flat());
  const onFront = leaders.map((row) => row.length);
  const ledBy = rowsByLeader(leaders);
  // A candidate is dominated if each row that it leads has another leader on the front.
  const weakestFirst = [...front].sort((a, b) => (a.val?.mean ?? 0) - (b.val?.mean ?? 0));
  for (const candidate of weakestFirst) {
    const led = ledBy.get(candidate) ?? [];
    if (led.some((row) => onFront[row] === 1)) continue;
    front.delete(candidate);
    for (const row of led) onFront[row] = (onFront[row] ?? 0) - 1;
  }
  return leaders.flatMap((row) => row.filter((candidate) => front.has(candidate)));
}

/** Returns the candidates with the highest score, above 0, of each validation row. */
export function leadersByRow(run: SearchRun): Candidate[][] {
  return run.rows.val.map(({ key }) => {
    const scored = run.pool.map((candidate) => ({ candidate, score: run.evaluator.scoreOf(candidate.hash, key) ?? 0 }));
    const highest = Math.max(...scored.map(({ score }) => score));
    return highest > 0 ? scored.filter(({ score }) => score === highest).map(({ candidate }) => candidate) : [];
  });
}

/** Returns the numbers of the rows that each candidate leads. */
export function rowsByLeader(leaders: readonly Candidate[][]): ReadonlyMap<Candidate, readonly number[]> {
  const rows = new Map<Candidate, number[]>();
  for (const [number, row] of leaders.entries()) {
    for (const candidate of row) {
      const own = rows.get(candidate);
      if (own === undefined) rows.set(candidate, [number]);
      else own.push(number);
    }
  }
  return rows;
}

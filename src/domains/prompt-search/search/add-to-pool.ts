import { compareWithPool } from './pareto-frontier.ts';
import type { Candidate } from './ports.ts';
import { bestOf, type SearchRun } from './search-run.ts';

/** Candidates in the pool, and tokens of all their templates: some 64 MB. */
const membersMax = 500;
const tokensMax = 16_000_000;

/**
 * Puts a candidate into the pool. If the pool is full, the worst leaves that is neither the seed nor the best
 * and that another is better than, or else the worst of all others.
 */
export function addToPool(run: SearchRun, candidate: Candidate): void {
  const { pool, best } = run;
  pool.push(candidate);
  let tokens = pool.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  while (pool.length > membersMax || tokens > tokensMax) {
    const leaving = chooseLeaving(run);
    if (leaving === undefined) return;
    pool.splice(pool.indexOf(leaving), 1);
    tokens -= leaving.promptTokens;
    best.members = pool.length;
  }
}

function chooseLeaving(run: SearchRun): Candidate | undefined {
  const [seed, best] = [run.pool[0], bestOf(run)];
  const open = run.pool.filter((each) => each !== seed && each !== best);
  // Among equals, the longer is worse, then the newer.
  const worstFirst = open.reverse().sort((a, b) => meanOf(a) - meanOf(b) || b.promptTokens - a.promptTokens);
  return worstFirst.find(compareWithPool(run)) ?? worstFirst[0];
}

const meanOf = ({ val }: Candidate) => val?.mean ?? 0;

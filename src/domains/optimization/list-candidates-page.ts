import { z } from 'zod';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { CandidateStatus } from '../prompt-search/index.ts';
import { candidateToWire } from './candidate.schema.ts';
import { listCandidates, listRowScores, type RowScore } from './candidate-store.ts';
import { refOf } from './read-run.ts';
import type { Run } from './run.ts';

const position = z.tuple([z.int()]);
/** A candidate has scores on at most as many rows as a run has. */
const candidatesWithRowsMax = 20;
const rowScoresMax = 20_000;

/**
 * Returns one page of the candidates of a run, in the order in which they came to be.
 * @throws MalformedError for a cursor of another list
 * @throws UnavailableError while Postgres is unavailable
 */
export async function listCandidatesPage(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  run: Run,
  query: { limit: number; cursor?: string | undefined; status?: CandidateStatus | undefined; withRows: boolean },
) {
  const { status, cursor, withRows } = query;
  const ref = refOf(run);
  const limit = withRows ? Math.min(query.limit, candidatesWithRowsMax) : query.limit;
  const fingerprint = fingerprintOf({ list: 'optimization-candidates', ...ref, status, withRows });
  const [after] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const { candidates, hasMore } = await listCandidates(postgres, ref, { status, after, limit });
  const scores = withRows ? await readScores(postgres, run, candidates) : undefined;
  const last = candidates.at(-1);
  return {
    data: candidates.map((each) => candidateToWire(each, scores && (scores.get(each.hash) ?? []))),
    page: {
      next_cursor: hasMore && last ? encodeCursor(cursorSecret, fingerprint, [last.position]) : null,
      has_more: hasMore,
      limit,
    },
  };
}

/** Reads the scores of candidates by their hashes. */
export async function readScores(
  postgres: Postgres,
  run: Run,
  candidates: readonly { hash: string }[],
): Promise<Map<string, RowScore[]>> {
  const hashes = candidates.map(({ hash }) => hash);
  const byHash = new Map<string, RowScore[]>();
  for (const score of await listRowScores(postgres, refOf(run), hashes, rowScoresMax)) {
    const known = byHash.get(score.candidateHash);
    if (known === undefined) byHash.set(score.candidateHash, [score]);
    else known.push(score);
  }
  return byHash;
}

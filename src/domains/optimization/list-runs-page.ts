import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { runToWire } from './run.schema.ts';
import { countRuns, listRuns, type RunFilters } from './run-list-store.ts';

export const runSorts = ['-created_at', 'created_at'] as const;

const position = z.tuple([z.string()]);

/**
 * Returns one page of the runs of a prompt, with the number of all that match.
 * @throws MalformedError for a cursor of another list
 * @throws UnavailableError while Postgres is unavailable
 */
export async function listRunsPage(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  given: { filters: RunFilters; sort: (typeof runSorts)[number]; limit: number; cursor: string | undefined },
) {
  const { filters, sort, limit, cursor } = given;
  const fingerprint = fingerprintOf({ list: 'optimization-runs', sort, ...filters });
  const [afterId] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const direction = sort === 'created_at' ? 'asc' : 'desc';
  const [rows, total] = await Promise.all([
    listRuns(postgres, filters, { direction, afterId, limit: limit + 1 }),
    countRuns(postgres, filters),
  ]);
  const { data, page } = toPage(
    rows,
    limit,
    ({ run, counts }) => runToWire(run, counts),
    ({ run }) => encodeCursor(cursorSecret, fingerprint, [run.id]),
  );
  return { data, page: { ...page, total } };
}

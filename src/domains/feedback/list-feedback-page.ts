import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { feedbackToWire } from './feedback.schema.ts';
import { type FeedbackFilters, listFeedback } from './feedback-list-store.ts';

const position = z.tuple([z.string().regex(/^\d+$/), z.string()]);

/**
 * Returns one page of feedback, newest first.
 * @throws MalformedError for a cursor of another list
 * @throws UnavailableError while Postgres is unavailable
 */
export async function listFeedbackPage(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  { filters, limit, cursor }: { filters: FeedbackFilters; limit: number; cursor: string | undefined },
) {
  const fingerprint = fingerprintOf({ list: 'feedback', ...filters });
  const [atUs, id] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const before = atUs === undefined || id === undefined ? undefined : { atUs, id };
  const rows = await listFeedback(postgres, filters, { before, limit: limit + 1 });
  return toPage(
    rows,
    limit,
    ({ feedback }) => feedbackToWire(feedback),
    (row) => encodeCursor(cursorSecret, fingerprint, [row.atUs, row.feedback.id]),
  );
}

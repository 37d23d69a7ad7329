import type { Postgres } from '../../stores/postgres/client.ts';
import type { Feedback, TargetType } from './feedback.ts';
import { feedbackColumns, feedbackOf } from './feedback-store.ts';

export interface FeedbackFilters {
  projectId: string;
  targetType?: TargetType | undefined;
  traceId?: string | undefined;
  spanId?: string | undefined;
  promptId?: string | undefined;
  sessionId?: string | undefined;
  userId?: string | undefined;
  name?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** `atUs` is in microseconds since the epoch, which a Date cannot hold. */
export interface ListedFeedback {
  feedback: Feedback;
  atUs: string;
}

/** Lists feedback, newest first. An update keeps the place. */
export async function listFeedback(
  postgres: Postgres,
  filters: FeedbackFilters,
  page: { before: { atUs: string; id: string } | undefined; limit: number },
): Promise<ListedFeedback[]> {
  const query = postgres('feedback').where(equal(filters));
  if (filters.from !== undefined) query.where('created_at', '>=', filters.from);
  if (filters.to !== undefined) query.where('created_at', '<', filters.to);
  if (page.before !== undefined) {
    query.whereRaw("(created_at, id) < (timestamptz 'epoch' + ?::bigint * interval '1 microsecond', ?)", [
      page.before.atUs,
      page.before.id,
    ]);
  }
  const rows = await query
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(page.limit)
    .select<(Parameters<typeof feedbackOf>[0] & { at_us: string })[]>(
      ...feedbackColumns,
      postgres.raw('(extract(epoch from created_at) * 1000000)::bigint::text as at_us'),
    );
  return rows.map((row) => ({ feedback: feedbackOf(row), atUs: row.at_us }));
}

function equal(filters: FeedbackFilters): Record<string, unknown> {
  const columns = {
    project_id: filters.projectId,
    target_type: filters.targetType,
    trace_id: filters.traceId,
    span_id: filters.spanId,
    prompt_id: filters.promptId,
    session_id: filters.sessionId,
    user_id: filters.userId,
    name: filters.name,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

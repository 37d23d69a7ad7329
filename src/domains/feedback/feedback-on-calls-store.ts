import type { Postgres } from '../../stores/postgres/client.ts';

/** Which feedback is looked for. A score above 0.5 is positive, and one below is negative. */
export const feedbackKinds = ['any', 'positive', 'negative', 'corrected'] as const;
export type FeedbackKind = (typeof feedbackKinds)[number];

const tests: Readonly<Record<FeedbackKind, string>> = {
  any: 'true',
  positive: 'score > 0.5',
  negative: 'score < 0.5',
  corrected: 'correction is not null',
};

/** The place of feedback in the list that has the newest first. `atUs` is in microseconds since the epoch. */
export interface FeedbackPlace {
  traceId: string;
  /** The span of feedback on a span. */
  spanId: string | null;
  atUs: string;
  id: string;
}

/**
 * Returns a page of the feedback on executions and spans since a time, newest first: the trace or span of each.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findFeedbackPlaces(
  postgres: Postgres,
  { projectId, kind, fromMs }: { projectId: string; kind: FeedbackKind; fromMs: number },
  { after, limit }: { after: FeedbackPlace | undefined; limit: number },
): Promise<FeedbackPlace[]> {
  const query = postgres('feedback')
    .where({ project_id: projectId })
    .where('created_at', '>=', new Date(fromMs))
    .whereIn('target_type', ['execution', 'span'])
    .whereRaw(tests[kind]);
  if (after !== undefined) {
    query.whereRaw("(created_at, id) < (timestamptz 'epoch' + ?::bigint * interval '1 microsecond', ?)", [
      after.atUs,
      after.id,
    ]);
  }
  return query
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit)
    .select<FeedbackPlace[]>(
      'trace_id as traceId',
      'span_id as spanId',
      'id',
      postgres.raw('(extract(epoch from created_at) * 1000000)::bigint::text as "atUs"'),
    );
}

/** What was said about one execution or span. */
export interface SaidOfTarget {
  /** Mean of all scores, from 0 to 1; null without one. */
  score: number | null;
  /** The newest of each. A comment is cut to {@link commentCharsMax}. */
  correction: string | null;
  comment: string | null;
}

const commentCharsMax = 2_000;
/** Feedback that is looked at: the newest on an execution and its spans together. */
const perTraceMax = 1_000;

/** An execution (`spanId` undefined) or one of its spans. */
export interface CallTarget {
  traceId: string;
  spanId?: string | undefined;
}

/** Returns the name of a target in the answer of {@link findSaidOf}. */
export const targetKey = ({ traceId, spanId }: CallTarget) => (spanId === undefined ? traceId : `${traceId}/${spanId}`);

/**
 * Returns what was said about executions and spans, by {@link targetKey}. A target without feedback is
 * absent. Of very much feedback on an execution and its spans, the newest counts.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findSaidOf(
  postgres: Postgres,
  projectId: string,
  targets: readonly CallTarget[],
): Promise<ReadonlyMap<string, SaidOfTarget>> {
  if (targets.length === 0) return new Map();
  const { rows } = await postgres.raw<{ rows: ({ key: string } & SaidOfTarget)[] }>(
    `with said as (
       select target_key, avg(score) as score,
         (array_agg(id order by updated_at desc, id desc) filter (where correction is not null))[1] as correction_id,
         (array_agg(id order by updated_at desc, id desc) filter (where comment is not null))[1] as comment_id
       from unnest(?::text[]) as wanted (trace) cross join lateral (
         select * from feedback where project_id = ? and trace_id = wanted.trace
         order by created_at desc limit ${perTraceMax}
       ) as newest
       where target_type in ('execution', 'span') and target_key = any(?)
       group by target_key
     )
     select said.target_key as key, said.score, corrected.correction, left(commented.comment, ${commentCharsMax}) as comment
     from said
       left join feedback as corrected on corrected.project_id = ? and corrected.id = correction_id
       left join feedback as commented on commented.project_id = ? and commented.id = comment_id`,
    [[...new Set(targets.map(({ traceId }) => traceId))], projectId, targets.map(targetKey), projectId, projectId],
  );
  return new Map(rows.map(({ key, ...said }) => [key, said]));
}

import type { Postgres } from '../../stores/postgres/client.ts';
import type { Author, Feedback, FeedbackContent, FeedbackValue, Rating, Target } from './feedback.ts';

interface Row {
  id: string;
  target_type: Target['type'];
  trace_id: string | null;
  span_id: string | null;
  prompt_id: string | null;
  prompt_version: number | null;
  session_id: string | null;
  name: string;
  user_id: string;
  value_number: number | null;
  value_boolean: boolean | null;
  value_text: string | null;
  rating: string | null;
  score: number | null;
  comment: string | null;
  correction: string | null;
  metadata: Record<string, unknown> | null;
  author_type: Author['type'];
  author_id: string | null;
  created_at: Date;
  updated_at: Date;
}

export const feedbackColumns = [
  ...['id', 'target_type', 'trace_id', 'span_id', 'prompt_id', 'prompt_version', 'session_id', 'name', 'user_id'],
  ...['value_number', 'value_boolean', 'value_text', 'rating', 'score', 'comment', 'correction', 'metadata'],
  ...['author_type', 'author_id', 'created_at', 'updated_at'],
] as const;

export interface NewFeedback extends FeedbackContent {
  /** The id that it gets if it is new. */
  id: string;
  projectId: string;
  target: Target;
  name: string;
  userId: string;
  author: Author;
}

/**
 * Stores feedback, or updates what the same user said about the same target under the same name.
 * One statement, so that of several at once exactly one creates it.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function putFeedback(
  postgres: Postgres,
  given: NewFeedback,
): Promise<{ feedback: Feedback; isNew: boolean }> {
  const { target, author } = given;
  const changed = {
    ...context(target),
    ...content(given),
    author_type: author.type,
    author_id: author.id,
    updated_at: postgres.raw('clock_timestamp()'),
  };
  const [row]: Row[] = await postgres('feedback')
    .insert({
      id: given.id,
      project_id: given.projectId,
      target_type: target.type,
      target_key: target.key,
      name: given.name,
      user_id: given.userId,
      ...changed,
    })
    .onConflict(['project_id', 'target_type', 'target_key', 'name', 'user_id'])
    .merge(Object.keys(changed))
    .returning([...feedbackColumns]);
  if (row === undefined) throw new Error('Postgres returned no row for feedback that it stored');
  return { feedback: feedbackOf(row), isNew: row.id === given.id };
}

/** Finds one feedback of a project. */
export async function findFeedback(postgres: Postgres, projectId: string, id: string): Promise<Feedback | undefined> {
  const row = await postgres('feedback')
    .where({ project_id: projectId, id })
    .first<Row | undefined>([...feedbackColumns]);
  return row && feedbackOf(row);
}

/** Removes one feedback and returns it, or undefined when the project has no such feedback. */
export async function removeFeedback(
  transaction: Postgres,
  projectId: string,
  id: string,
): Promise<Feedback | undefined> {
  const [row]: Row[] = await transaction('feedback')
    .where({ project_id: projectId, id })
    .delete()
    .returning([...feedbackColumns]);
  return row && feedbackOf(row);
}

/** Converts a row with {@link feedbackColumns}. */
export function feedbackOf(row: Row): Feedback {
  return {
    id: row.id,
    targetType: row.target_type,
    traceId: row.trace_id,
    spanId: row.span_id,
    promptId: row.prompt_id,
    promptVersion: row.prompt_version,
    sessionId: row.session_id,
    name: row.name,
    userId: row.user_id,
    value: row.value_number ?? row.value_boolean ?? row.value_text,
    rating: ratingOf(row.rating),
    score: row.score,
    comment: row.comment,
    correction: row.correction,
    metadata: row.metadata,
    author: { type: row.author_type, id: row.author_id },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function ratingOf(stored: string | null): Rating | null {
  if (stored === null || stored === 'up' || stored === 'down') return stored;
  return Number(stored);
}

function context({ traceId, spanId, promptId, promptVersion, sessionId }: Target) {
  return given({
    trace_id: traceId,
    span_id: spanId,
    prompt_id: promptId,
    prompt_version: promptVersion,
    session_id: sessionId,
  });
}

function content({ value, rating, comment, correction, metadata }: FeedbackContent) {
  return given({
    ...(value === undefined ? {} : valueColumns(value)),
    rating: rating === undefined || rating === null ? rating : String(rating),
    comment,
    correction,
    metadata: metadata === undefined || metadata === null ? metadata : JSON.stringify(metadata),
  });
}

function valueColumns(value: FeedbackValue | null) {
  return {
    value_number: typeof value === 'number' ? value : null,
    value_boolean: typeof value === 'boolean' ? value : null,
    value_text: typeof value === 'string' ? value : null,
  };
}

/** Keeps null, which removes what is stored. */
function given(columns: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

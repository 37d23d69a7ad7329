import { UnauthenticatedError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Principal, projectActedIn, type Tenancy } from '../auth/index.ts';
import type { FeedbackBody } from './feedback.schema.ts';
import type { Author, Feedback, Target } from './feedback.ts';
import type { FeedbackCounts } from './feedback-counts.ts';
import type { FeedbackReads } from './feedback-reads.ts';
import { putFeedback } from './feedback-store.ts';
import { checkGrant, type ResolveTargetDeps, resolveTarget } from './resolve-target.ts';

export interface CreateFeedbackDeps extends ResolveTargetDeps {
  postgres: Postgres;
  tenancy: Tenancy;
  reads: Pick<FeedbackReads, 'note'>;
  counts: Pick<FeedbackCounts, 'add'>;
}

/**
 * Stores feedback, or updates what the same user said about the same target under the same name:
 * the fields of the body are replaced, and the others stay.
 * @throws UnauthenticatedError for a feedback token beside another credential
 * @throws ForbiddenError for a target that the token or the role does not allow
 * @throws NotFoundError for an unknown project, prompt or version
 * @throws UnavailableError while Postgres is unavailable
 */
export async function createFeedback(
  deps: CreateFeedbackDeps,
  { principal, body }: { principal: Principal; body: FeedbackBody },
): Promise<{ feedback: Feedback; isNew: boolean }> {
  checkSingleCredential(principal, body);
  const project = await projectActedIn(deps, principal, { projectId: body.project_id, scope: 'feedback:write' });
  checkGrant(principal, body);
  const target = await resolveTarget(deps, project, body);
  const { value, rating, comment, correction, metadata } = body;
  const content = { value, rating, comment, correction, metadata };
  const stored = await putFeedback(deps.postgres, {
    id: newId('fbk'),
    projectId: project.projectId,
    target,
    name: body.name,
    userId: body.user_id ?? userOf(principal),
    author: authorOf(principal),
    ...content,
  });
  deps.reads.note(project.projectId);
  deps.counts.add(target.type, stored.isNew ? 'created' : 'updated');
  // A visitor of a page learns only what the request itself contains, and whether it is new.
  return principal.type === 'feedback_token' ? { ...stored, feedback: onlySent(stored, target, content) } : stored;
}

function checkSingleCredential(principal: Principal, body: FeedbackBody): void {
  const isSentInBody = principal.type === 'feedback_token' && principal.sentIn === 'body';
  if (body.feedback_token === undefined || isSentInBody) return;
  throw new UnauthenticatedError(
    'invalid_credentials',
    'The request has more than one credential. Send feedback_token in the body only if no header has a credential.',
  );
}

function authorOf(principal: Principal): Author {
  if (principal.type === 'api_key') return { type: 'api_key', id: principal.keyId };
  if (principal.type === 'user') return { type: 'user', id: principal.userId };
  return { type: principal.type === 'feedback_token' ? 'feedback_token' : 'admin', id: null };
}

/** A signed-in user speaks for themselves unless they name another, so that two users do not replace each other. */
function userOf(principal: Principal): string {
  return principal.type === 'user' ? principal.userId : '';
}

type Sent = Pick<FeedbackBody, 'value' | 'rating' | 'comment' | 'correction' | 'metadata'>;

/** The score after an update with a value alone may be that of a stored rating, and is left out. */
function onlySent({ feedback, isNew }: { feedback: Feedback; isNew: boolean }, target: Target, sent: Sent): Feedback {
  const decidesScore = isNew || sent.rating != null || (sent.rating === null && sent.value != null);
  return {
    ...feedback,
    promptId: target.promptId ?? null,
    promptVersion: target.promptVersion ?? null,
    sessionId: target.sessionId ?? null,
    value: sent.value ?? null,
    rating: sent.rating ?? null,
    score: decidesScore ? feedback.score : null,
    comment: sent.comment ?? null,
    correction: sent.correction ?? null,
    metadata: sent.metadata ?? null,
    createdAt: feedback.updatedAt,
  };
}

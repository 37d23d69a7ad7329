import { UnauthenticatedError } from '../../lib/errors.ts';
import type { AuthenticateDeps } from './authenticate.ts';
import { readFeedbackToken } from './feedback-token.ts';
import type { FeedbackTokenPrincipal } from './principal.ts';

/**
 * Admits the holder of a feedback token while its project exists.
 * @throws UnauthenticatedError for a token that is not valid or expired, or whose project is gone
 * @throws UnavailableError while the project cannot be looked up
 */
export async function admitFeedbackToken(
  { apiKeyPepper, tenancy }: Pick<AuthenticateDeps, 'apiKeyPepper' | 'tenancy'>,
  token: string,
  { sentIn, atMs }: Pick<FeedbackTokenPrincipal, 'sentIn'> & { atMs: number },
): Promise<FeedbackTokenPrincipal> {
  const grant = readFeedbackToken(apiKeyPepper, token, atMs);
  const project = grant && (await tenancy.findProject(grant.projectId));
  if (grant === undefined || project === undefined) {
    throw new UnauthenticatedError('invalid_credentials', 'The feedback token is not valid or expired.');
  }
  return { type: 'feedback_token', project, traceId: grant.traceId, sentIn };
}

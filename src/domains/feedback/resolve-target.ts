import { ForbiddenError } from '../../lib/errors.ts';
import type { Principal } from '../auth/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { ItemCache } from '../versioned/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { FeedbackBody } from './feedback.schema.ts';
import type { Target, TargetType } from './feedback.ts';

export interface ResolveTargetDeps {
  prompts: Pick<ItemCache<PromptContent>, 'read' | 'readVersion'>;
}

const keys: Readonly<Record<TargetType, (target: Omit<Target, 'key' | 'type'>) => string>> = {
  execution: ({ traceId }) => `${traceId}`,
  span: ({ traceId, spanId }) => `${traceId}/${spanId}`,
  prompt: ({ promptId, promptVersion }) =>
    promptVersion === undefined ? `${promptId}` : `${promptId}@${promptVersion}`,
  session: ({ sessionId }) => `${sessionId}`,
  product: () => '',
};

/**
 * Returns the target of a body. A prompt must exist and may be named by its slug; a trace may arrive
 * later. Fields that do not name the target are kept as its context.
 * @throws NotFoundError for an unknown prompt or version
 * @throws UnavailableError while Postgres is unavailable
 */
export async function resolveTarget(
  { prompts }: ResolveTargetDeps,
  project: ProjectScope,
  body: FeedbackBody,
): Promise<Target> {
  const prompt = body.prompt_id === undefined ? undefined : await prompts.read(project, body.prompt_id);
  if (prompt !== undefined && body.prompt_version !== undefined)
    await prompts.readVersion(project, prompt, body.prompt_version);
  const target = {
    traceId: body.trace_id,
    spanId: body.span_id,
    promptId: prompt?.id,
    promptVersion: body.prompt_version,
    sessionId: body.session_id,
  };
  return { ...target, type: body.target_type, key: keys[body.target_type](target) };
}

/**
 * Checks that the holder of a feedback token stays within its trace.
 * @throws ForbiddenError for any other target
 */
export function checkGrant(principal: Principal, body: FeedbackBody): void {
  if (principal.type !== 'feedback_token') return;
  const isOfTrace = body.target_type === 'execution' || body.target_type === 'span';
  if (isOfTrace && body.trace_id === principal.traceId && body.prompt_id === undefined) return;
  throw new ForbiddenError(
    'forbidden',
    `This feedback token allows feedback on the execution ${principal.traceId} and its spans, and on nothing else.`,
  );
}

import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf } from '../../http/pagination.ts';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import { feedbackSchema } from '../executions/index.ts';
import { type CreateFeedbackDeps, createFeedback } from './create-feedback.ts';
import { createFeedbackToken } from './create-feedback-token.ts';
import { deleteFeedback } from './delete-feedback.ts';
import {
  feedbackBody,
  feedbackParams,
  feedbackQuery,
  feedbackTokenBody,
  feedbackTokenSchema,
  feedbackToWire,
} from './feedback.schema.ts';
import { findFeedback } from './feedback-store.ts';
import { feedbackLimits } from './limits.ts';
import { listFeedbackPage } from './list-feedback-page.ts';
import { unknownFeedback } from './unknown-feedback.ts';

export interface FeedbackDeps extends CreateFeedbackDeps {
  apiKeyPepper: string;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();
const params = z.strictObject({ project_id: z.string() });
const reading = { tag: 'feedback', method: 'GET', access: { scope: 'executions:read' }, rateClass: 'read' } as const;
const writing = { tag: 'feedback', access: { scope: 'feedback:write' }, rateClass: 'write' } as const;
const listPath = '/api/projects/{project_id}/feedback';

/** Returns the endpoints of feedback. */
export function feedbackEndpoints(deps: FeedbackDeps) {
  return [createEndpoint(deps), createTokenEndpoint(deps), listEndpoint(deps), ...oneEndpoints(deps)];
}

function createEndpoint(deps: FeedbackDeps) {
  return endpoint({
    ...writing,
    operationId: 'createFeedback',
    method: 'POST',
    path: '/api/feedback',
    summary: 'Give feedback on an execution, a span, a prompt, a session or the product',
    description:
      'The same user gives feedback on the same target under the same name once. Another request updates it: the fields ' +
      'that it contains are replaced, null removes them, and the other fields stay. The execution may arrive later. An ' +
      'execution needs `trace_id`, a span `trace_id` and `span_id`, a prompt `prompt_id`, and a session `session_id`. ' +
      'Other fields that name something are stored as context. The body is limited to ' +
      `${feedbackLimits.bodyBytesMax} bytes. Browsers of any origin may call this route with a feedback token, in ` +
      '`Authorization: Bearer` or in the body, and may send the JSON as `text/plain`.',
    credentialField: 'feedback_token',
    cors: true,
    body: feedbackBody,
    bodyBytesMax: feedbackLimits.bodyBytesMax,
    responses: {
      200: { description: 'The feedback, updated', schema: feedbackSchema },
      201: { description: 'The feedback, new', schema: feedbackSchema },
    },
    problems: ['forbidden', 'project_not_found', 'prompt_not_found', 'version_not_found'],
    handle: async ({ principal, body }) => {
      const { feedback, isNew } = await createFeedback(deps, { principal, body });
      const answer = feedbackToWire(feedback);
      return isNew ? { status: 201, body: answer } : { status: 200, body: answer };
    },
  });
}

function createTokenEndpoint(deps: FeedbackDeps) {
  return endpoint({
    ...writing,
    operationId: 'createFeedbackToken',
    method: 'POST',
    path: '/api/projects/{project_id}/feedback-tokens',
    summary: 'Create a token for feedback on one execution',
    description:
      'The token is safe in a browser: it allows feedback on this execution and its spans, and nothing else. It cannot ' +
      'be revoked before it expires. Only this response contains it.',
    params,
    body: feedbackTokenBody,
    shownOnce: ['feedback_token'],
    responses: { 201: { description: 'The token', schema: feedbackTokenSchema } },
    handle: async ({ principal, body }) => {
      const { projectId } = projectOf(principal);
      const { token, expiresAt } = createFeedbackToken(deps, {
        ...{ projectId, traceId: body.trace_id, ttlS: body.ttl_s },
      });
      const answer = { feedback_token: token, trace_id: body.trace_id, expires_at: expiresAt.toISOString() };
      return { status: 201, body: answer };
    },
  });
}

function listEndpoint(deps: FeedbackDeps) {
  return endpoint({
    ...reading,
    lane: 'lists',
    operationId: 'listFeedback',
    path: listPath,
    summary: 'List the feedback of a project, newest first',
    description: 'An update keeps the place of feedback in the list.',
    params,
    query: feedbackQuery,
    responses: { 200: { description: 'A page of feedback', schema: listOf(feedbackSchema) } },
    handle: async ({ principal, query: { limit, cursor, from, to, ...given } }) => {
      const filters = {
        projectId: projectOf(principal).projectId,
        targetType: given.target_type,
        traceId: given.trace_id,
        spanId: given.span_id,
        promptId: given.prompt_id,
        sessionId: given.session_id,
        userId: given.user_id,
        name: given.name,
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
      };
      return { status: 200, body: await listFeedbackPage(deps, { filters, limit, cursor }) };
    },
  });
}

function oneEndpoints(deps: FeedbackDeps) {
  const one = { path: `${listPath}/{feedback_id}`, params: feedbackParams, problems: ['feedback_not_found'] } as const;
  return [
    endpoint({
      ...reading,
      ...one,
      operationId: 'getFeedback',
      summary: 'Get one feedback',
      responses: { 200: { description: 'The feedback', schema: feedbackSchema } },
      handle: async ({ principal, params: { feedback_id: id } }) => {
        const feedback = await findFeedback(deps.postgres, projectOf(principal).projectId, id);
        if (feedback === undefined) throw unknownFeedback(id);
        return { status: 200, body: feedbackToWire(feedback) };
      },
    }),
    endpoint({
      ...writing,
      ...one,
      operationId: 'deleteFeedback',
      method: 'DELETE',
      summary: 'Delete one feedback',
      responses: { 204: { description: 'The feedback is deleted' } },
      handle: async ({ principal, params: { feedback_id: id }, requestId }) => {
        const actor = auditActorOf(principal, requestId);
        await deleteFeedback(deps, { project: projectOf(principal), id, actor });
        return { status: 204 };
      },
    }),
  ];
}

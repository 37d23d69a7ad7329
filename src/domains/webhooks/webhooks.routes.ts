import { z } from 'zod';
import { endpointsFor, type Headers } from '../../http/endpoint.ts';
import { formatEtag } from '../../http/etag.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import { createWebhook, type WebhookDeps } from './create-webhook.ts';
import { deliveriesEndpoints } from './deliveries.routes.ts';
import { listWebhooksPage } from './list-webhooks-page.ts';
import { rotateWebhookSecret } from './rotate-webhook-secret.ts';
import { testWebhook } from './test-webhook.ts';
import { deleteWebhook, updateWebhook } from './update-webhook.ts';
import { unknownWebhook, type Webhook, webhookTag } from './webhook.ts';
import { findWebhook } from './webhook-store.ts';
import {
  createdWebhookSchema,
  createWebhookBody,
  projectParams,
  rotatedSecretSchema,
  rotateSecretBody,
  testedWebhookSchema,
  updateWebhookBody,
  webhookParams,
  webhookSchema,
  webhookToWire,
} from './webhooks.schema.ts';

export interface WebhooksDeps extends WebhookDeps {
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();
const reading = { tag: 'webhooks', method: 'GET', access: { scope: 'budgets:read' }, rateClass: 'read' } as const;
const changing = { tag: 'webhooks', access: { scope: 'budgets:write' }, rateClass: 'write' } as const;
const path = '/api/projects/{project_id}/webhooks';
const problems = ['project_not_found', 'webhook_not_found'] as const;

/** Creates the endpoints of outbound webhooks and their deliveries. */
export function webhooksEndpoints(deps: WebhooksDeps) {
  return [
    listEndpoint(deps),
    createEndpoint(deps),
    getEndpoint(deps),
    updateEndpoint(deps),
    deleteEndpoint(deps),
    rotateEndpoint(deps),
    testEndpoint(deps),
    ...deliveriesEndpoints(deps),
  ];
}

function listEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...reading,
    operationId: 'listWebhooks',
    path,
    summary: 'List the webhooks of a project, newest first',
    params: projectParams,
    query: z.strictObject(pageParams),
    responses: { 200: { description: 'A page of webhooks, without their secrets', schema: listOf(webhookSchema) } },
    problems: ['project_not_found', 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, query }) => {
      const { projectId } = projectOf(principal);
      return { status: 200, body: await listWebhooksPage(deps, { projectId, ...query }) };
    },
  });
}

function createEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...changing,
    operationId: 'createWebhook',
    method: 'POST',
    path,
    summary: 'Create a webhook, which receives events of the project',
    description:
      'Requests are signed as Standard Webhooks requires. Only this response contains the secret. A project has at most 20 webhooks.',
    params: projectParams,
    body: createWebhookBody,
    shownOnce: ['secret'],
    responses: { 201: { description: 'The webhook with its secret', schema: createdWebhookSchema } },
    problems: ['project_not_found', 'too_many_webhooks'],
    handle: async ({ principal, body, requestId }) => {
      const acting = { project: projectOf(principal), actor: auditActorOf(principal, requestId) };
      const { webhook, secret } = await createWebhook(deps, { ...acting, ...body });
      return { status: 201, body: { ...webhookToWire(webhook), secret } };
    },
  });
}

function getEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...reading,
    operationId: 'getWebhook',
    path: `${path}/{webhook_id}`,
    summary: 'Get a webhook, without its secret',
    params: webhookParams,
    conditional: 'writes',
    responses: { 200: { description: 'The webhook', schema: webhookSchema } },
    problems,
    handle: async ({ principal, params }) => {
      const webhook = await findWebhook(deps.postgres, projectOf(principal).projectId, params.webhook_id);
      if (webhook === undefined) throw unknownWebhook(params.webhook_id);
      return { status: 200, body: webhookToWire(webhook), headers: tagged(webhook) };
    },
  });
}

/** As a header, so that no GET is 304: attempts change the response without the webhook. */
function tagged(webhook: Webhook): Headers {
  return { ETag: formatEtag(webhookTag(webhook)) };
}

function updateEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...changing,
    operationId: 'updateWebhook',
    method: 'PUT',
    path: `${path}/{webhook_id}`,
    summary: 'Change a webhook',
    description:
      'An absent field does not change. Null clears the description. Enabling a webhook, or changing its URL, makes the ' +
      'first 5,000 of its pending deliveries due at once. The others keep their times. Deliveries of a disabled webhook wait, and fail 24 hours after their event.',
    params: webhookParams,
    body: updateWebhookBody,
    conditional: 'writes',
    responses: { 200: { description: 'The changed webhook', schema: webhookSchema } },
    problems,
    handle: async ({ principal, params, body, requestId, ifMatch }) => {
      const webhook = await updateWebhook(deps, {
        project: projectOf(principal),
        id: params.webhook_id,
        ifMatch,
        actor: auditActorOf(principal, requestId),
        changes: { url: body.url, description: body.description, events: body.events, enabled: body.enabled },
      });
      return { status: 200, body: webhookToWire(webhook), headers: tagged(webhook) };
    },
  });
}

function deleteEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...changing,
    operationId: 'deleteWebhook',
    method: 'DELETE',
    path: `${path}/{webhook_id}`,
    summary: 'Delete a webhook with its deliveries',
    params: webhookParams,
    conditional: 'writes',
    responses: { 204: { description: 'The webhook is deleted' } },
    problems,
    handle: async ({ principal, params, requestId, ifMatch }) => {
      const actor = auditActorOf(principal, requestId);
      await deleteWebhook(deps, { project: projectOf(principal), id: params.webhook_id, actor, ifMatch });
      return { status: 204 };
    },
  });
}

function rotateEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...changing,
    operationId: 'rotateWebhookSecret',
    method: 'POST',
    path: `${path}/{webhook_id}/rotate-secret`,
    summary: 'Replace the secret of a webhook',
    description:
      'For `overlap_s` seconds, 24 hours by default, requests have a signature by the old secret as well. Only this response ' +
      'contains the new secret.',
    params: webhookParams,
    body: rotateSecretBody,
    shownOnce: ['secret'],
    responses: { 201: { description: 'The new secret', schema: rotatedSecretSchema } },
    problems,
    handle: async ({ principal, params, body, requestId }) => {
      const id = params.webhook_id;
      const acting = { project: projectOf(principal), actor: auditActorOf(principal, requestId) };
      const rotated = await rotateWebhookSecret(deps, { ...acting, id, overlapS: body.overlap_s });
      const until = rotated.previousSecretUntil?.toISOString() ?? null;
      return { status: 201, body: { id, secret: rotated.secret, previous_secret_until: until } };
    },
  });
}

function testEndpoint(deps: WebhooksDeps) {
  return endpoint({
    ...changing,
    operationId: 'testWebhook',
    method: 'POST',
    path: `${path}/{webhook_id}/test`,
    summary: 'Send a test event to a webhook',
    description: 'Its type is `webhook.test`. The list of deliveries shows its outcome.',
    params: webhookParams,
    responses: { 202: { description: 'The event will be sent', schema: testedWebhookSchema } },
    problems: [...problems, 'webhook_disabled'],
    handle: async ({ principal, params }) => {
      const eventId = await testWebhook(deps, { project: projectOf(principal), id: params.webhook_id });
      return { status: 202, body: { event_id: eventId } };
    },
  });
}

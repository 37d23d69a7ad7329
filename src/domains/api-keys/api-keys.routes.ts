import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { auditActorOf, type Principal, presets, projectOf } from '../auth/index.ts';
import { findApiKey } from './api-key-store.ts';
import {
  apiKeyParams,
  apiKeySchema,
  apiKeyToWire,
  createApiKeyBody,
  createdApiKeySchema,
  createdApiKeyToWire,
  projectParams,
  rotateApiKeyBody,
  rotatedApiKeySchema,
  rotatedApiKeyToWire,
} from './api-keys.schema.ts';
import { createApiKey } from './create-api-key.ts';
import { listApiKeysPage } from './list-api-keys-page.ts';
import { revokeApiKey } from './revoke-api-key.ts';
import { rotateApiKey } from './rotate-api-key.ts';
import { unknownApiKey } from './unknown-api-key.ts';

export interface ApiKeysDeps {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  apiKeyPepper: string;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();
const reading = { tag: 'api-keys', method: 'GET', access: { scope: 'keys:read' }, rateClass: 'read' } as const;
const changing = { tag: 'api-keys', access: { role: 'admin' }, rateClass: 'write' } as const;
const keysPath = '/api/projects/{project_id}/api-keys';

/** Creates the endpoints for the API keys of a project. */
export function apiKeysEndpoints(deps: ApiKeysDeps) {
  return [listEndpoint(deps), getEndpoint(deps), createEndpoint(deps), revokeEndpoint(deps), rotateEndpoint(deps)];
}

function listEndpoint(deps: ApiKeysDeps) {
  return endpoint({
    ...reading,
    operationId: 'listApiKeys',
    path: keysPath,
    summary: 'List the API keys of a project, newest first',
    description: 'The list includes revoked and expired keys. It does not include secrets.',
    params: projectParams,
    query: z.strictObject(pageParams),
    responses: { 200: { description: 'A page of keys', schema: listOf(apiKeySchema) } },
    problems: ['project_not_found', 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, query }) => {
      const body = await listApiKeysPage(deps, { projectId: projectOf(principal).projectId, ...query });
      return { status: 200, body };
    },
  });
}

function getEndpoint(deps: ApiKeysDeps) {
  return endpoint({
    ...reading,
    operationId: 'getApiKey',
    path: `${keysPath}/{key_id}`,
    summary: 'Get an API key, without its secret',
    params: apiKeyParams,
    responses: { 200: { description: 'The key', schema: apiKeySchema } },
    problems: ['project_not_found', 'api_key_not_found'],
    handle: async ({ principal, params }) => {
      const { projectId } = projectOf(principal);
      const apiKey = await findApiKey(deps.postgres, projectId, params.key_id);
      if (apiKey === undefined) throw unknownApiKey(params.key_id);
      return { status: 200, body: apiKeyToWire(apiKey) };
    },
  });
}

function createEndpoint(deps: ApiKeysDeps) {
  return endpoint({
    ...changing,
    operationId: 'createApiKey',
    method: 'POST',
    path: keysPath,
    summary: 'Create an API key',
    description: 'Only this response contains the secret. Without `scopes` or `preset` the key gets every scope.',
    params: projectParams,
    body: createApiKeyBody,
    shownOnce: ['key'],
    responses: { 201: { description: 'The key with its secret', schema: createdApiKeySchema } },
    problems: ['project_not_found'],
    handle: async ({ principal, body, requestId }) => {
      const { apiKey, key } = await createApiKey(deps, {
        project: projectOf(principal),
        actor: auditActorOf(principal, requestId),
        name: body.name,
        scopes: body.scopes ?? presets[body.preset ?? 'full'],
        expiresAt: body.expires_at == null ? null : new Date(body.expires_at),
      });
      return { status: 201, body: createdApiKeyToWire(apiKey, key) };
    },
  });
}

function revokeEndpoint(deps: ApiKeysDeps) {
  return endpoint({
    ...changing,
    operationId: 'revokeApiKey',
    method: 'DELETE',
    path: `${keysPath}/{key_id}`,
    summary: 'Revoke an API key',
    description:
      'All processes refuse the key within one second. The key stays in the list. Revoking it again changes nothing.',
    params: apiKeyParams,
    responses: { 204: { description: 'The key is revoked' } },
    problems: ['project_not_found', 'api_key_not_found'],
    handle: async ({ principal, params, requestId }) => {
      const actor = auditActorOf(principal, requestId);
      await revokeApiKey(deps, { project: projectOf(principal), id: params.key_id, actor });
      return { status: 204 };
    },
  });
}

function rotateEndpoint(deps: ApiKeysDeps) {
  return endpoint({
    ...changing,
    operationId: 'rotateApiKey',
    method: 'POST',
    path: `${keysPath}/{key_id}/rotate`,
    summary: 'Replace an API key by a new one',
    description:
      'The new key has its own id and secret. It has the name, scopes and expiry of the old key. The old key works for ' +
      'another `overlap_s` seconds. Without `overlap_s` it is revoked immediately. A key can be rotated once.',
    params: apiKeyParams,
    body: rotateApiKeyBody,
    shownOnce: ['key'],
    responses: { 201: { description: 'The new key with its secret', schema: rotatedApiKeySchema } },
    problems: ['project_not_found', 'api_key_not_found', 'conflict'],
    handle: async ({ principal, params, body, requestId }) => {
      const rotated = await rotateApiKey(deps, {
        project: projectOf(principal),
        id: params.key_id,
        overlapS: body.overlap_s,
        actor: auditActorOf(principal, requestId),
      });
      return { status: 201, body: rotatedApiKeyToWire(rotated) };
    },
  });
}

import { endpoint } from '../../http/endpoint.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { presets } from '../auth/index.ts';
import { createApiKeyBody, createdApiKeySchema, createdApiKeyToWire, projectParams } from './api-keys.schema.ts';
import { createApiKey } from './create-api-key.ts';

export function apiKeysEndpoints(deps: { postgres: Postgres; apiKeyPepper: string }) {
  return [
    endpoint({
      operationId: 'createApiKey',
      method: 'POST',
      path: '/api/projects/{project_id}/api-keys',
      summary: 'Create an API key',
      description:
        'The secret is in this answer and nowhere else. Without `scopes` or `preset` the key gets every scope.',
      tag: 'api-keys',
      access: { role: 'admin' },
      rateClass: 'write',
      params: projectParams,
      body: createApiKeyBody,
      responses: { 201: { description: 'The key with its secret', schema: createdApiKeySchema } },
      problems: ['project_not_found'],
      handle: async ({ params, body }) => {
        const { apiKey, key } = await createApiKey(deps, {
          // authorise() has found the project, so the text is one of our ids.
          projectId: params.project_id as ProjectId,
          name: body.name,
          scopes: body.scopes ?? presets[body.preset ?? 'full'],
          expiresAt: body.expires_at == null ? null : new Date(body.expires_at),
        });
        return { status: 201, body: createdApiKeyToWire(apiKey, key) };
      },
    }),
  ];
}

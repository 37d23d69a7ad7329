import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { type Principal, workspaceOf } from '../auth/index.ts';
import { quotaSchema, quotaToWire } from './quotas.schema.ts';
import { reportQuota } from './report-quota.ts';

const { endpoint } = endpointsFor<Principal>();

/** Creates the endpoint that reports limits and usage of a workspace. */
export function quotasEndpoints(deps: { redis: Redis }) {
  return [
    endpoint({
      operationId: 'getQuota',
      method: 'GET',
      path: '/api/workspaces/{workspace_id}/quota',
      summary: 'Get the limits of a workspace and what remains of them',
      description:
        'A quota covers one calendar month (UTC). After the quota of spans is used up, ingestion responds with 402. Rates apply to a sliding minute. ' +
        '`remaining` is the amount that may be sent immediately. This request uses no quota. It counts toward the rate `read`.',
      tag: 'workspaces',
      access: { authenticated: true },
      rateClass: 'read',
      params: z.strictObject({ workspace_id: z.string().min(1).max(64) }),
      responses: { 200: { description: 'The quotas, rates and retention in force', schema: quotaSchema } },
      problems: ['workspace_not_found', 'dependency_unavailable'],
      handle: async ({ principal }) => {
        const workspace = workspaceOf(principal);
        if (workspace === undefined) throw new Error('Authorization has found the workspace of the path');
        return { status: 200, body: quotaToWire(await reportQuota(deps, workspace, Date.now())) };
      },
    }),
  ];
}

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
      summary: 'What the plan of a workspace allows, and what is left of it',
      description:
        'Quotas are by calendar month (UTC); over the quota of spans ingestion answers 402. Rates are per minute and sliding: ' +
        '`remaining` is what may be sent at once. Reading this uses no quota; like any read it counts towards the rate `read`.',
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

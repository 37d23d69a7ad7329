import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { NotFoundError } from '../../lib/errors.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { type Principal, workspaceOf } from '../auth/index.ts';
import type { WorkspaceScope } from '../workspaces/index.ts';
import { quotaSchema, quotaToWire } from './quotas.schema.ts';
import { reportQuota } from './report-quota.ts';

const { endpoint } = endpointsFor<Principal>();

export interface QuotasDeps {
  redis: Redis;
  /** For the operator, who acts in no workspace of their own. */
  findWorkspaceScope: (workspaceId: string) => Promise<WorkspaceScope | undefined>;
}

export function quotasEndpoints(deps: QuotasDeps) {
  return [
    endpoint({
      operationId: 'getQuota',
      method: 'GET',
      path: '/api/workspaces/{workspace_id}/quota',
      summary: 'What the plan of a workspace allows, and what is left of it',
      description:
        'Quotas are by calendar month (UTC); over the quota of spans ingestion answers 402. Rates are per minute and sliding: ' +
        '`remaining` is what may be sent at once. Reading this draws on no quota, and on the rate `read` as any read.',
      tag: 'workspaces',
      access: { authenticated: true },
      rateClass: 'read',
      params: z.strictObject({ workspace_id: z.string().min(1).max(64) }),
      responses: { 200: { description: 'The quotas, rates and retention in force', schema: quotaSchema } },
      problems: ['workspace_not_found', 'dependency_unavailable'],
      handle: async ({ params, principal }) => {
        const workspace = await workspaceOfPath(deps, principal, params.workspace_id);
        return { status: 200, body: quotaToWire(await reportQuota(deps, workspace, Date.now())) };
      },
    }),
  ];
}

/** The workspace of the path when the caller acts in it. Throws NotFoundError for any other. */
async function workspaceOfPath(deps: QuotasDeps, principal: Principal, workspaceId: string): Promise<WorkspaceScope> {
  const own = workspaceOf(principal);
  if (own?.id === workspaceId) return own;
  const found = principal.type === 'admin' ? await deps.findWorkspaceScope(workspaceId) : undefined;
  if (found === undefined) throw new NotFoundError('workspace_not_found', 'There is no such workspace.');
  return found;
}

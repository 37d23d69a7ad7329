import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { getStats, type StatsDeps } from './get-stats.ts';
import { statsQuery, statsSchema } from './stats.schema.ts';

const { endpoint } = endpointsFor<Principal>();

/** Creates the endpoints of analytics. */
export function analyticsEndpoints(deps: StatsDeps) {
  return [
    endpoint({
      operationId: 'getStats',
      method: 'GET',
      path: '/api/projects/{project_id}/stats',
      summary: 'Get what a project did in a time window',
      description:
        'Sums over executions, compared with the window of the same length before. All values are exact. The window has at most ' +
        '366 days and 998 buckets.',
      tag: 'analytics',
      access: { scope: 'analytics:read' },
      rateClass: 'analytics',
      params: z.strictObject({ project_id: z.string() }),
      query: statsQuery,
      responses: { 200: { description: 'The stats of the window', schema: statsSchema } },
      problems: ['project_not_found', 'clickhouse_unavailable', 'query_timeout'],
      handle: async ({ principal, query, signal }) => {
        const { projectId, workspaceId } = projectOf(principal);
        return { status: 200, body: await getStats(deps, { projectId, workspaceId, signal, query }) };
      },
    }),
  ];
}

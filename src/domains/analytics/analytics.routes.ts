import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { getPromptAnalytics, type PromptAnalyticsDeps } from './get-prompt-analytics.ts';
import { getStats, type StatsDeps } from './get-stats.ts';
import { promptAnalyticsQuery, promptAnalyticsSchema } from './prompt-analytics.schema.ts';
import { statsQuery, statsSchema } from './stats.schema.ts';

const { endpoint } = endpointsFor<Principal>();

/** Creates the endpoints of analytics. */
export function analyticsEndpoints(deps: StatsDeps & PromptAnalyticsDeps) {
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
    endpoint({
      operationId: 'getPromptAnalytics',
      method: 'GET',
      path: '/api/projects/{project_id}/prompts/{prompt_id}/analytics',
      summary: 'Get how a prompt did in a time window',
      description:
        'Sums over the calls of the prompt, each counted once, by version, model, environment or label. All values are exact. The ' +
        'window has at most 366 days and 998 buckets. `compare` tests whether two versions differ.',
      tag: 'analytics',
      access: { scope: 'analytics:read' },
      rateClass: 'analytics',
      params: z.strictObject({ project_id: z.string(), prompt_id: z.string() }),
      query: promptAnalyticsQuery,
      responses: { 200: { description: 'The analytics of the prompt', schema: promptAnalyticsSchema } },
      problems: [
        ...(['project_not_found', 'prompt_not_found', 'version_not_found'] as const),
        ...(['postgres_unavailable', 'clickhouse_unavailable', 'query_timeout', 'result_too_large'] as const),
      ],
      handle: async ({ principal, params, query, signal }) => {
        const { projectId, workspaceId } = projectOf(principal);
        const request = { projectId, workspaceId, idOrSlug: params.prompt_id, signal, query };
        return { status: 200, body: await getPromptAnalytics(deps, request) };
      },
    }),
  ];
}

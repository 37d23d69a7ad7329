import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { booleanParam, decimalParam, integerParam, listParam } from '../../http/query.ts';
import { spanKinds } from '../../lib/span-kind.ts';
import type { Principal } from '../auth/index.ts';
import { spansPerTraceMax } from '../spans/index.ts';
import { hierarchySchema } from './hierarchy.schema.ts';
import { type ReadTraceDeps, readTrace } from './read-trace.ts';
import { readerOf } from './reader-of.ts';
import { reading } from './reading.ts';
import { timelineSchema } from './timeline.schema.ts';

const { endpoint } = endpointsFor<Principal>();

const params = z.strictObject({ project_id: z.string(), trace_id: z.string() });

const hierarchyQuery = z.strictObject({
  format: z
    .enum(['nested', 'flat'])
    .default('nested')
    .meta({ description: 'Form of the tree. The response for a very deep tree is always flat' }),
});

const timelineQuery = z.strictObject({
  skew: z.enum(['on', 'off']).default('on').meta({ description: 'Whether to correct the clocks of different hosts' }),
  kinds: listParam()
    .pipe(z.array(z.enum(spanKinds)))
    .optional()
    .meta({
      description: `Comma-separated list of span kinds, from ${spanKinds.join(', ')}; default: all`,
      example: 'llm,tool',
    }),
  min_duration_ms: decimalParam({ max: 1e12 })
    .default(0)
    .meta({ description: 'Only spans with at least this duration' }),
  errors_only: booleanParam().default(false).meta({ description: 'Only failed spans and their ancestors' }),
  limit: integerParam({ min: 1, max: spansPerTraceMax })
    .default(spansPerTraceMax)
    .meta({ description: 'The largest number of spans. Parents come before children' }),
});

/** Returns the endpoints for the tree of one execution and for its layout in time. */
export function treesEndpoints(deps: ReadTraceDeps) {
  return [
    endpoint({
      ...reading,
      operationId: 'getHierarchy',
      path: '/api/projects/{project_id}/executions/{trace_id}/hierarchy',
      summary: 'Get one execution as a tree of spans',
      params,
      query: hierarchyQuery,
      responses: { 200: { description: 'The tree', schema: hierarchySchema } },
      problems: ['execution_not_found', 'workspace_busy', 'server_busy'],
      handle: async ({ principal, params, query, signal }) => {
        const input = { projectId: params.project_id, traceId: params.trace_id, format: query.format };
        return readTrace(deps, 'getHierarchy', input, readerOf(principal, signal));
      },
    }),
    endpoint({
      ...reading,
      operationId: 'getTimeline',
      path: '/api/projects/{project_id}/executions/{trace_id}/timeline',
      summary: 'Get the timeline of one execution, with corrected clocks of its hosts',
      params,
      query: timelineQuery,
      responses: { 200: { description: 'The timeline', schema: timelineSchema } },
      problems: ['execution_not_found', 'workspace_busy', 'server_busy'],
      handle: async ({ principal, params, query, signal }) => {
        const filter = {
          kinds: query.kinds && new Set<string>(query.kinds),
          durationNanoMin: BigInt(Math.round(query.min_duration_ms * 1e6)),
          errorsOnly: query.errors_only,
          limit: query.limit,
        };
        const input = { projectId: params.project_id, traceId: params.trace_id, skew: query.skew === 'on', filter };
        return readTrace(deps, 'getTimeline', input, readerOf(principal, signal));
      },
    }),
  ];
}

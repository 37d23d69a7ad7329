import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import type { Principal } from '../auth/index.ts';
import { costBreakdownSchema } from './cost-breakdown.ts';
import { executionSchema } from './executions.schema.ts';
import { feedbackSchema } from './feedback.schema.ts';
import { executionPageSchema, listExecutionsQuery } from './list-executions.schema.ts';
import { type ListExecutionsDeps, listExecutionsPage } from './list-executions-page.ts';
import { type ReadTraceDeps, readTrace } from './read-trace.ts';
import { readerOf } from './reader-of.ts';
import { reading } from './reading.ts';
import { spanSchema } from './span.schema.ts';
import { spansEndpoints } from './spans.routes.ts';
import { include } from './spans.schema.ts';
import { treesEndpoints } from './trees.routes.ts';

const { endpoint } = endpointsFor<Principal>();

const detailSchema = executionSchema
  .extend({
    project_id: z.string(),
    cost_breakdown: costBreakdownSchema,
    missing_parents: z
      .array(z.string())
      .meta({ description: 'Ids of parents that spans name and that have not arrived; at most 1,000' }),
    feedback: z
      .array(feedbackSchema)
      .meta({ description: 'The newest feedback on the execution and its spans, at most 100' }),
    spans: z.array(spanSchema),
    truncated: z.boolean().meta({ description: 'The same as `spans_truncated`' }),
    spans_truncated: z
      .boolean()
      .meta({ description: 'Whether the execution has more spans than one response contains' }),
    spans_next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Pass this as `cursor` of the list of spans to read the omitted spans' }),
  })
  .meta({ id: 'Execution' });

/** Returns the endpoints that read executions. `deps.threads` runs the reads of large traces. */
export function executionsEndpoints(deps: ListExecutionsDeps & ReadTraceDeps) {
  return [
    endpoint({
      ...reading,
      operationId: 'listExecutions',
      path: '/api/projects/{project_id}/executions',
      summary: 'List executions',
      params: z.strictObject({ project_id: z.string() }),
      query: listExecutionsQuery,
      responses: {
        200: {
          description: 'A page of the executions that started between `from` and `to`',
          schema: executionPageSchema,
        },
      },
      problems: [
        'invalid_cursor',
        'cursor_mismatch',
        'unknown_filter_field',
        'invalid_filter',
        'query_timeout',
        'query_too_large',
        'workspace_busy',
        'server_busy',
      ],
      handle: async ({ principal, params, query, signal }) => {
        const input = { projectId: params.project_id, query };
        return { status: 200, body: await listExecutionsPage(deps, input, readerOf(principal, signal)) };
      },
    }),
    endpoint({
      ...reading,
      operationId: 'getExecution',
      path: '/api/projects/{project_id}/executions/{trace_id}',
      summary: 'Get one execution with all its spans',
      params: z.strictObject({ project_id: z.string(), trace_id: z.string() }),
      query: z.strictObject({
        include,
        spans: z.enum(['all', 'none']).default('all').meta({ description: '`none` leaves `spans` empty' }),
      }),
      responses: { 200: { description: 'The execution with at most 8 MiB of spans', schema: detailSchema } },
      problems: ['execution_not_found', 'workspace_busy', 'server_busy'],
      handle: async ({ principal, params, query, signal }) => {
        const trace = { projectId: params.project_id, traceId: params.trace_id };
        const reader = readerOf(principal, signal);
        const project = { workspaceId: reader.workspaceId, projectId: trace.projectId };
        const feedback = await deps.feedback.listOf(project, trace.traceId.toLowerCase());
        const input = { ...trace, include: query.include, withSpans: query.spans === 'all', feedback };
        return readTrace(deps, 'getExecution', input, reader);
      },
    }),
    ...spansEndpoints(deps),
    ...treesEndpoints(deps),
  ];
}

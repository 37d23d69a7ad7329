import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { costBreakdownSchema, costBreakdownToWire } from './cost-breakdown.ts';
import { executionSchema, executionToWire } from './executions.schema.ts';
import { getExecution } from './get-execution.ts';
import { executionPageSchema, listExecutionsQuery } from './list-executions.schema.ts';
import { type ListExecutionsDeps, listExecutionsPage } from './list-executions-page.ts';
import { spanSchema, spansToWire } from './span.schema.ts';
import { type SpanPart, spanParts } from './span-queries.ts';
import { treesEndpoints } from './trees.routes.ts';

const partNames = Object.keys(spanParts) as SpanPart[];

const include = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(partNames)))
  .optional()
  .meta({
    description: `Comma list of the span parts to answer, of ${partNames.join(', ')}; default all`,
    example: 'input,output',
  });

const detailSchema = executionSchema.extend({
  project_id: z.string(),
  cost_breakdown: costBreakdownSchema,
  missing_parents: z.array(z.string()).meta({ description: 'Parents that are named but have not arrived' }),
  feedback: z.array(z.unknown()),
  spans: z.array(spanSchema),
  truncated: z.boolean().meta({ description: 'Whether there are more spans than one answer gives out' }),
});

export function executionsEndpoints(deps: ListExecutionsDeps) {
  const common = {
    tag: 'executions',
    access: { scope: 'executions:read' },
    rateClass: 'read',
    lane: 'analysis',
    method: 'GET',
  } as const;
  return [
    endpoint({
      ...common,
      operationId: 'listExecutions',
      path: '/api/projects/{project_id}/executions',
      summary: 'List executions',
      params: z.strictObject({ project_id: z.string() }),
      query: listExecutionsQuery,
      responses: {
        200: {
          description: 'A page of executions that started in the window',
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
      ],
      handle: async ({ params, query }) => {
        const body = await listExecutionsPage(deps, { projectId: params.project_id, query });
        return { status: 200, body };
      },
    }),
    endpoint({
      ...common,
      operationId: 'getExecution',
      path: '/api/projects/{project_id}/executions/{trace_id}',
      summary: 'One execution with all of its spans',
      params: z.strictObject({ project_id: z.string(), trace_id: z.string() }),
      query: z.strictObject({ include }),
      responses: { 200: { description: 'The execution', schema: detailSchema } },
      problems: ['execution_not_found'],
      handle: async ({ params, query }) => {
        const detail = await getExecution(deps, {
          projectId: params.project_id,
          traceId: params.trace_id,
          include: new Set(query.include ?? partNames),
        });
        return {
          status: 200,
          body: {
            ...executionToWire(detail.execution),
            project_id: params.project_id,
            cost_breakdown: costBreakdownToWire(detail.execution, detail.costBreakdown),
            missing_parents: detail.missingParents,
            feedback: [],
            spans: spansToWire(detail.spans),
            truncated: detail.spans.length < detail.execution.spanCount,
          },
        };
      },
    }),
    ...treesEndpoints(deps),
  ];
}

import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import type { Principal } from '../auth/index.ts';
import { shownParts } from './read-logs.ts';
import { type ReadTraceDeps, readTrace } from './read-trace.ts';
import { readerOf } from './reader-of.ts';
import { reading } from './reading.ts';
import { spanSchema } from './span.schema.ts';
import { getSpanPartQuery, getSpanQuery, listSpansQuery, spanPageSchema, spanPartSchema } from './spans.schema.ts';

const { endpoint } = endpointsFor<Principal>();

const traceParams = { project_id: z.string(), trace_id: z.string() };
const spanParams = { ...traceParams, span_id: z.string() };
const spansPath = '/api/projects/{project_id}/executions/{trace_id}/spans';

/**
 * Returns the endpoints for the spans of one execution: pages of spans, one span, and slices of one
 * span part.
 */
export function spansEndpoints(deps: ReadTraceDeps) {
  return [
    endpoint({
      ...reading,
      operationId: 'listSpans',
      path: spansPath,
      summary: 'List the spans of one execution by start time',
      params: z.strictObject(traceParams),
      query: listSpansQuery,
      responses: {
        200: { description: 'A page of spans. The page also has a limit in bytes', schema: spanPageSchema },
      },
      problems: ['execution_not_found', 'invalid_cursor', 'cursor_mismatch', 'workspace_busy', 'server_busy'],
      handle: async ({ principal, params, query, signal }) => {
        const input = { projectId: params.project_id, traceId: params.trace_id, ...query };
        return readTrace(deps, 'listSpans', input, readerOf(principal, signal));
      },
    }),
    endpoint({
      ...reading,
      operationId: 'getSpan',
      path: `${spansPath}/{span_id}`,
      summary: 'Get one span of an execution',
      params: z.strictObject(spanParams),
      query: getSpanQuery,
      responses: { 200: { description: 'The span', schema: spanSchema } },
      problems: ['execution_not_found', 'span_not_found', 'workspace_busy', 'server_busy'],
      handle: async ({ principal, params, query, signal }) => {
        const span = { projectId: params.project_id, traceId: params.trace_id, spanId: params.span_id };
        const input = { ...span, partCharsMax: query.part_chars_max };
        return readTrace(deps, 'getSpan', input, readerOf(principal, signal));
      },
    }),
    endpoint({
      ...reading,
      operationId: 'getSpanPart',
      path: `${spansPath}/{span_id}/parts/{part}`,
      summary: 'Get a slice of the JSON text of one part of a span',
      params: z.strictObject({ ...spanParams, part: z.enum(shownParts).meta({ description: 'The part of the span' }) }),
      query: getSpanPartQuery,
      responses: { 200: { description: 'The slice', schema: spanPartSchema } },
      problems: ['execution_not_found', 'span_not_found', 'workspace_busy', 'server_busy'],
      handle: async ({ principal, params, query, signal }) => {
        const span = { projectId: params.project_id, traceId: params.trace_id, spanId: params.span_id };
        return readTrace(deps, 'getSpanPart', { ...span, part: params.part, ...query }, readerOf(principal, signal));
      },
    }),
  ];
}

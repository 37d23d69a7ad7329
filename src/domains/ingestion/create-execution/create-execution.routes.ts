import { z } from 'zod';
import type { Headers } from '../../../http/endpoint.ts';
import { endpointsFor } from '../../../http/endpoint.ts';
import { preferredWaitS } from '../../../http/prefer.ts';
import { limitedWorkspaceOf, type Principal, projectOf } from '../../auth/index.ts';
import { chargeIngest, type IngestCaller, type Limiter } from '../../quotas/index.ts';
import type { Charge } from '../receive/receive-traces.ts';
import { type CreatedExecution, type CreateExecutionDeps, createExecution } from './create-execution.ts';
import { executionBody } from './execution-body.ts';
import { executionLimits } from './limits.ts';

const { endpoint } = endpointsFor<Principal>();

const waitSMax = 10;

const created = z.object({
  id: z.string().meta({ description: 'The trace id' }),
  trace_id: z.string(),
  status: z.enum(['queued', 'stored', 'quarantined']).meta({
    description: '`stored` is readable. `quarantined` could not be stored and waits for an operator',
  }),
  links: z.object({ self: z.string(), hierarchy: z.string(), timeline: z.string() }),
});

/** Returns the endpoint that records one execution from JSON. */
export function createExecutionEndpoint(deps: CreateExecutionDeps & { limiter: Limiter }) {
  return endpoint({
    operationId: 'createExecution',
    method: 'POST',
    path: '/api/projects/{project_id}/executions',
    summary: 'Record an execution without OpenTelemetry',
    description:
      'The top-level fields are the root span, `spans` hang under it unless they name another parent. Answers 202 once the spans are ' +
      `durable; with \`Prefer: wait=N\` (at most ${waitSMax} seconds) 201 once they are readable, 202 when time runs out first. ` +
      'Span ids that are not given are made of `trace_id` and position, so the same `trace_id` again replaces and never duplicates. ' +
      'Without times it took place now: `duration_ms` alone ends now, `started_at` alone lasts until now, `ended_at` alone took no time. ' +
      `At most ${executionLimits.spansMax} spans, the root included; input and output ${executionLimits.contentBytesMax} bytes each; ` +
      `variables and metadata ${executionLimits.entriesMax} keys, ${executionLimits.variablesBytesMax} and ` +
      `${executionLimits.metadataBytesMax} bytes, ${executionLimits.entryDepthMax} levels deep.`,
    tag: 'executions',
    access: { scope: 'executions:write' },
    rateClass: 'write',
    // `Admission` bounds this endpoint. A place in a lane would be idle while the request waits.
    lane: 'none',
    preferredWaitSMax: waitSMax,
    params: z.strictObject({ project_id: z.string() }),
    body: executionBody,
    bodyBytesMax: executionLimits.bodyBytesMax,
    responses: {
      201: { description: 'Stored: the execution is readable', schema: created },
      202: { description: 'Durable, and readable soon', schema: created },
    },
    problems: ['workspace_busy', 'ingest_unavailable', 'queue_unavailable', 'quota_exceeded'],
    handle: async ({ params, body, headers, principal, signal, setHeaders, effectId }) => {
      const waitS = preferredWaitS(headers.prefer, waitSMax);
      const waitMs = waitS === undefined ? undefined : waitS * 1_000;
      const project = projectOf(principal);
      const charge = chargeOf(deps, {
        limited: limitedWorkspaceOf(principal),
        workspaceId: project.workspaceId,
        setHeaders,
      });
      const execution = await createExecution(deps, { project, body, charge, effectId, waitMs, signal });
      const answer = {
        body: toWire(params.project_id, execution),
        headers: {
          Location: linkTo(params.project_id, execution),
          ...(execution.waited ? { 'Preference-Applied': `wait=${waitS}` } : {}),
        },
      };
      return execution.status === 'stored' ? { status: 201, ...answer } : { status: 202, ...answer };
    },
  });
}

/**
 * Charges the request. The response headers describe the limit on requests, unless a limit of
 * ingestion refuses: then they describe that one.
 */
function chargeOf(deps: { limiter: Limiter }, { setHeaders, ...caller }: IngestCaller): Charge {
  return async (cost, receivedAtMs) => {
    let headers: Headers = {};
    const keep = (given: Headers) => {
      headers = given;
    };
    try {
      return await chargeIngest(deps, { ...caller, setHeaders: keep }, { cost, receivedAtMs });
    } catch (error) {
      setHeaders(headers);
      throw error;
    }
  };
}

function toWire(projectId: string, execution: CreatedExecution): z.infer<typeof created> {
  const self = linkTo(projectId, execution);
  return {
    id: execution.traceId,
    trace_id: execution.traceId,
    status: execution.status,
    links: { self, hierarchy: `${self}/hierarchy`, timeline: `${self}/timeline` },
  };
}

function linkTo(projectId: string, { traceId }: CreatedExecution): string {
  return `/api/projects/${encodeURIComponent(projectId)}/executions/${traceId}`;
}

import { z } from 'zod';
import type { Headers } from '../../../http/endpoint.ts';
import { endpointsFor } from '../../../http/endpoint.ts';
import { preferredWaitS } from '../../../http/prefer.ts';
import { limitedWorkspaceOf, type Principal, projectOf } from '../../auth/index.ts';
import { chargeIngest, type IngestCaller, type Limiter } from '../../quotas/index.ts';
import type { Charge } from '../receive/receive-body.ts';
import { type CreatedExecution, type CreateExecutionDeps, createExecution } from './create-execution.ts';
import { executionBody } from './execution-body.ts';
import { executionLimits } from './limits.ts';

const { endpoint } = endpointsFor<Principal>();

const waitSMax = 10;

const created = z
  .object({
    id: z.string().meta({ description: 'The trace id' }),
    trace_id: z.string(),
    status: z.enum(['queued', 'stored', 'quarantined']).meta({
      description:
        '`stored`: the execution is readable. `queued`: it will be stored soon. `quarantined`: it could not be stored, and an operator must handle it',
    }),
    links: z.object({ self: z.string(), hierarchy: z.string(), timeline: z.string() }),
  })
  .meta({ id: 'CreatedExecution' });

/** Returns the endpoint that records one execution from JSON. */
export function createExecutionEndpoint(deps: CreateExecutionDeps & { limiter: Limiter }) {
  return endpoint({
    operationId: 'createExecution',
    method: 'POST',
    path: '/api/projects/{project_id}/executions',
    summary: 'Record an execution without OpenTelemetry',
    description:
      'The top-level fields describe the root span. `spans` are its children unless they name another parent. The response is 202 ' +
      `after the spans are durable. With \`Prefer: wait=N\` (at most ${waitSMax} seconds) the response is 201 after they are readable, ` +
      'or 202 if the time ends first. The service derives missing span ids from `trace_id` and the position in the body, so a ' +
      'request with the same `trace_id` replaces the spans and does not duplicate them. Missing times refer to the time of the ' +
      'request: with only `duration_ms`, the execution ends now; with only `started_at`, it lasts until now; with only `ended_at`, its ' +
      `duration is zero. Limits: ${executionLimits.spansMax} spans including the root; ${executionLimits.contentBytesMax} bytes each for ` +
      `input and output; ${executionLimits.entriesMax} keys and ${executionLimits.entryDepthMax} levels each for variables and metadata; ` +
      `${executionLimits.variablesBytesMax} bytes for variables; ${executionLimits.metadataBytesMax} bytes for metadata.`,
    tag: 'executions',
    access: { scope: 'executions:write' },
    rateClass: 'write',
    metered: false,
    // `Admission` bounds this endpoint. A place in a lane would be idle while the request waits.
    lane: 'none',
    preferredWaitSMax: waitSMax,
    params: z.strictObject({ project_id: z.string() }),
    body: executionBody,
    bodyBytesMax: executionLimits.bodyBytesMax,
    responses: {
      201: { description: 'The execution is stored and readable', schema: created },
      202: { description: 'The execution is durable and will be readable soon', schema: created },
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
  return async (cost, receivedAtMs, wasReceived) => {
    let headers: Headers = {};
    const keep = (given: Headers) => {
      headers = given;
    };
    try {
      return await chargeIngest(deps, { ...caller, setHeaders: keep }, { cost, receivedAtMs, wasReceived });
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

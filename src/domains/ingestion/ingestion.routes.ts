import type { Request, Response } from 'express';
import { endpointsFor, rawEndpoint } from '../../http/endpoint.ts';
import type { Problem } from '../../http/problem.ts';
import { ForbiddenError, NotFoundError } from '../../lib/errors.ts';
import { readEncoding } from '../../otlp/media-type.ts';
import { encodeExportResponse, encodeStatus, rpcCodes } from '../../otlp/response.ts';
import type { ScanResult } from '../../otlp/scan.ts';
import { limitedWorkspaceOf, type Principal } from '../auth/index.ts';
import { chargeIngest, type Limiter } from '../quotas/index.ts';
import { createExecutionEndpoint } from './create-execution/create-execution.routes.ts';
import { type QuarantineDeps, quarantineEndpoints } from './quarantine/quarantine.routes.ts';
import { BodyWaits } from './receive/body-waits.ts';
import { exportProblems, otlpBodies, otlpErrors, refusedExample } from './receive/otlp-document.ts';
import { type ReceiveTracesDeps, receiveTraces } from './receive/receive-traces.ts';

const { rawEndpoint: principalEndpoint } = endpointsFor<Principal>();

/** Sent in Accept-Encoding when a Content-Encoding is refused (RFC 9110, 15.5.16). */
const acceptedCodings = 'gzip, deflate';

export type IngestionDeps = ReceiveTracesDeps & QuarantineDeps & { limiter: Limiter };

/** Returns the endpoints that receive spans and executions, and those of the quarantine. */
export function ingestionEndpoints(deps: IngestionDeps) {
  return [
    principalEndpoint({
      operationId: 'exportTraces',
      method: 'POST',
      path: '/api/v1/traces',
      summary: 'Receive OpenTelemetry traces (OTLP/HTTP)',
      description:
        'The body is protobuf or JSON, optionally compressed with gzip or deflate. The API key determines the project. The service responds after the spans are durable. ' +
        'An error response is a google.rpc.Status in the encoding of the request.',
      tag: 'ingestion',
      access: { scope: 'traces:write' },
      rateClass: 'ingest',
      reads: otlpBodies,
      errors: otlpErrors,
      responses: {
        200: {
          description: 'ExportTraceServiceResponse. It has partial_success if spans were rejected',
          contentType: 'application/json',
          example: {},
        },
      },
      problems: [...exportProblems, 'quota_exceeded'],
      handle: async (request, response, { principal, setHeaders, receive }) => {
        if (principal.type !== 'api_key') {
          throw new ForbiddenError(
            'api_key_required',
            'Sending spans requires an API key, because the key determines the project.',
          );
        }
        const { project } = principal;
        const caller = { limited: limitedWorkspaceOf(principal), workspaceId: project.workspaceId, setHeaders };
        const scan = await receiveTraces(deps, project, {
          headers: request.headers,
          receive,
          charge: (cost, receivedAtMs) => chargeIngest(deps, caller, { cost, receivedAtMs }),
        });
        sendAccepted(request, response, scan);
      },
      renderError: sendStatus,
    }),
    ...(['metrics', 'logs'] as const).map((signal) => refusedSignal(signal)),
    createExecutionEndpoint({ ...deps, waits: new BodyWaits(deps.publisher) }),
    ...quarantineEndpoints(deps),
  ];
}

/**
 * Returns an endpoint that answers 404. SDKs configured by environment variables post these signals
 * too; a 404 makes them stop without a retry.
 */
function refusedSignal(signal: 'metrics' | 'logs') {
  return rawEndpoint({
    operationId: signal === 'metrics' ? 'exportMetrics' : 'exportLogs',
    method: 'POST',
    path: `/api/v1/${signal}`,
    summary: `Not supported: the service refuses OTLP ${signal} without reading the body`,
    tag: 'ingestion',
    access: { open: true },
    rateClass: 'none',
    errors: otlpErrors,
    responses: { 404: { description: 'google.rpc.Status', contentType: 'application/json', example: refusedExample } },
    problems: ['signal_not_offered'],
    handle: async () => {
      throw new NotFoundError('signal_not_offered', `Promptlane accepts traces only, not ${signal}.`);
    },
    renderError: sendStatus,
  });
}

function sendAccepted(request: Request, response: Response, scan: ScanResult): void {
  const message = [...scan.reasons, ...scan.warnings].join('; ');
  const encoding = readEncoding(request.headers['content-type']) ?? 'json';
  send(response, 200, encoding, encodeExportResponse(encoding, { rejected: scan.rejected, message }));
}

/** Sends an error in the encoding of the request, or in JSON when that encoding is unknown. */
function sendStatus(problem: Problem, request: Request, response: Response): void {
  const encoding = readEncoding(request.headers['content-type']) ?? 'json';
  if (problem.code === 'unsupported_content_encoding') response.setHeader('Accept-Encoding', acceptedCodings);
  const fieldViolations = problem.errors?.map(({ path, message }) => ({ field: path, description: message }));
  const status = {
    code: rpcCodes[problem.status] ?? 2,
    message: problem.detail,
    ...(fieldViolations && { fieldViolations }),
  };
  send(response, problem.status, encoding, encodeStatus(encoding, status));
}

function send(response: Response, status: number, encoding: 'protobuf' | 'json', body: Uint8Array): void {
  response.status(status);
  response.setHeader('Content-Type', encoding === 'protobuf' ? 'application/x-protobuf' : 'application/json');
  response.setHeader('Content-Length', body.length);
  response.end(body);
}

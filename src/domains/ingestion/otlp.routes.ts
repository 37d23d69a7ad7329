import type { Request, Response } from 'express';
import type { Contract } from '../../http/contract.ts';
import { endpointsFor } from '../../http/endpoint.ts';
import type { Problem } from '../../http/problem.ts';
import { ForbiddenError } from '../../lib/errors.ts';
import { readEncoding } from '../../otlp/media-type.ts';
import { type ExportOutcome, encodeExportResponse, encodeStatus, rpcCodes } from '../../otlp/response.ts';
import type { ExportedSignal, Signal } from '../../otlp/signal.ts';
import { limitedWorkspaceOf, type Principal } from '../auth/index.ts';
import { chargeIngest, chargeUnkept, type Limiter } from '../quotas/index.ts';
import type { HourlyNotices } from './receive/hourly-notices.ts';
import { exportDocuments, exportProblems, otlpErrors } from './receive/otlp-document.ts';
import { type ReceiveBodyDeps, readHeaders, receiveBody } from './receive/receive-body.ts';
import type { UnkeptCounts } from './receive/unkept-counts.ts';

const { rawEndpoint } = endpointsFor<Principal>();

/** Sent in Accept-Encoding when a Content-Encoding is refused (RFC 9110, 15.5.16). */
const acceptedCodings = 'gzip, deflate';

export type ExportDeps = ReceiveBodyDeps & {
  limiter: Limiter;
  /** What the keys are told about log records, and about metrics. */
  notices: Readonly<Record<'logs' | 'metrics', HourlyNotices>>;
  unkept: UnkeptCounts;
  countRejectedLogs: (rejected: number) => void;
};

const common = {
  method: 'POST',
  tag: 'ingestion',
  access: { scope: 'traces:write' },
  rateClass: 'ingest',
  errors: otlpErrors,
  renderError: sendStatus,
} as const satisfies Partial<Contract> & { renderError: typeof sendStatus };

/** Returns the endpoints of OTLP/HTTP, one for each signal. */
export function exportEndpoints(deps: ExportDeps) {
  return [storedSignal(deps, 'traces'), storedSignal(deps, 'logs'), metricsEndpoint(deps)];
}

function storedSignal(deps: ExportDeps, signal: Signal) {
  return rawEndpoint({
    ...common,
    ...exportDocuments[signal],
    path: `/api/v1/${signal}`,
    problems: [...exportProblems, 'quota_exceeded'],
    handle: async (request, response, { principal, setHeaders, receive }) => {
      const { project, keyId } = requireKey(principal);
      const caller = { limited: limitedWorkspaceOf(principal), workspaceId: project.workspaceId, setHeaders };
      const scan = await receiveBody(deps, project, {
        signal,
        headers: request.headers,
        receive,
        charge: (cost, receivedAtMs, wasReceived) => chargeIngest(deps, caller, { cost, receivedAtMs, wasReceived }),
      });
      const notes = [...scan.reasons, ...scan.warnings];
      if (signal === 'logs') {
        deps.countRejectedLogs(scan.rejected);
        notes.push(...aboutUnkept(deps, keyId, scan.withoutSpan ?? 0));
      }
      sendAccepted(request, response, signal, { rejected: scan.rejected, message: notes.join('; ') });
    },
  });
}

/** Metrics are accepted, so that no SDK or Collector reports an error, and thrown away unread. */
function metricsEndpoint(deps: ExportDeps) {
  return rawEndpoint({
    ...common,
    ...exportDocuments.metrics,
    path: '/api/v1/metrics',
    metered: false,
    problems: exportProblems.filter((code) => !unreadProblems.has(code)),
    handle: async (request, response, { principal, setHeaders, receive }) => {
      const { keyId } = requireKey(principal);
      readHeaders(request.headers);
      const { length } = await receive(deps.limits.bodyBytesMax);
      await chargeUnkept(deps, { limited: limitedWorkspaceOf(principal), setHeaders }, length);
      deps.unkept.add(length);
      const told = deps.notices.metrics.take(keyId, 1, deps.clock.nowMs()) !== undefined;
      const message = told
        ? 'Metrics are accepted and not kept, because usage and latency are computed from spans. OTEL_METRICS_EXPORTER=none turns them off'
        : '';
      sendAccepted(request, response, 'metrics', { rejected: 0, message });
    },
  });
}

/** Problems of bodies that are read or stored. */
const unreadProblems: ReadonlySet<string> = new Set([
  ...['malformed_otlp', 'corrupt_body', 'spans_rejected'],
  ...['ingest_unavailable', 'queue_unavailable', 'quota_exceeded'],
]);

function requireKey(principal: Principal) {
  if (principal.type === 'api_key') return principal;
  throw new ForbiddenError(
    'api_key_required',
    'Sending OTLP data requires an API key, because the key determines the project.',
  );
}

function aboutUnkept({ notices, clock }: ExportDeps, keyId: string, count: number): string[] {
  const told = notices.logs.take(keyId, count, clock.nowMs());
  if (told === undefined) return [];
  const items = told.count === 1 ? 'log record' : 'log records';
  return [`${told.count} ${items} without a span accepted and not kept since ${told.since}`];
}

function sendAccepted(request: Request, response: Response, signal: ExportedSignal, outcome: ExportOutcome): void {
  const encoding = readEncoding(request.headers['content-type']) ?? 'json';
  send(response, 200, encoding, encodeExportResponse(signal, encoding, outcome));
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

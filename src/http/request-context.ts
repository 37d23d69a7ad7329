import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler, Response } from 'express';
import { MalformedError } from '../lib/errors.ts';
import { networkOf } from '../lib/network-of.ts';
import type { LatencyRecorder } from '../telemetry/latency.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Contract, Headers } from './endpoint.ts';
import { fixedHeaders } from './fixed-headers.ts';
import type { Problem } from './problem.ts';
import { discardBody } from './unwanted-bodies.ts';

/** What the HTTP layer knows about a request in progress. */
export interface RequestContext {
  requestId: string;
  startedAtMs: number;
  /** The workspace or address that it counts for. Set once a route has matched. */
  sharer?: string;
  /** Set once a route has matched. */
  contract?: Contract;
  /** Writes an error response. Set once a route has matched whose errors are not problems. */
  renderError?: ((problem: Problem) => void) | undefined;
  /** Code of the problem in the response, for the log line. */
  problemCode?: string;
}

/**
 * The context is a property of the response, because the garbage collector must visit every entry
 * of a WeakMap.
 */
const contextKey = Symbol('request context');

interface WithContext {
  [contextKey]?: RequestContext;
}

/**
 * Returns the context of a request.
 * @throws Error when `startRequest` has not run, which is a set-up fault
 */
export function contextOf(res: Response & WithContext): RequestContext {
  const context = res[contextKey];
  if (!context) throw new Error('startRequest() must be mounted first');
  return context;
}

/** Returns how errors of a request are written, if not as problems. */
export function errorRendererOf(res: ServerResponse & WithContext): RequestContext['renderError'] {
  return res[contextKey]?.renderError;
}

interface Observers {
  logger: Logger;
  metrics: Metrics;
  latency: LatencyRecorder;
}

/**
 * Creates the first middleware. It sets the request id (the client's id when valid) and the
 * response headers, records the request when it ends, and refuses a request without Host (RFC 9112,
 * 3.2). It is one middleware because each step of Express costs a request a microsecond.
 */
export function startRequest({ headers, ...observers }: Observers & { headers?: () => Headers }): RequestHandler {
  return (req, res: Response & WithContext, next) => {
    const offered = req.headers['x-request-id'];
    const requestId = typeof offered === 'string' && saneRequestId.test(offered) ? offered : randomUUID();
    res[contextKey] = { requestId, startedAtMs: performance.now() };
    res.setHeader('X-Request-Id', requestId);
    setHeaders(res, fixedHeaders);
    if (headers !== undefined) setHeaders(res, headers());
    const { socket } = req;
    const writtenBefore = socket.bytesWritten;
    res.once('prefinish', () => discardBody(req, contextOf(res).sharer ?? networkOf(socket.remoteAddress)));
    res.once('close', () => {
      lingerThenClose(res, socket);
      observe(observers, res, socket.bytesWritten - writtenBefore);
    });
    const lacksHost = req.httpVersion === '1.1' && req.headers.host === undefined;
    next(lacksHost ? new MalformedError('malformed_request', 'The Host header is missing') : undefined);
  };
}

/** Sets headers on a response. */
export function setHeaders(res: Response, headers: Headers): void {
  for (const name in headers) res.setHeader(name, headers[name] ?? '');
}

/**
 * Records one log line, one histogram sample and one latency sample per request. They use the path
 * pattern and never the query.
 */
function observe({ logger, metrics, latency }: Observers, res: Response, bytesOut: number): void {
  const { req } = res;
  const { requestId, startedAtMs, contract, problemCode } = contextOf(res);
  const ms = performance.now() - startedAtMs;
  const status = res.writableFinished ? res.statusCode : clientClosedRequest;
  metrics.observeRequest({ operation: contract?.operationId ?? 'unmatched', method: req.method, status, ms });
  if (contract) latency.record(`${contract.method} ${contract.path}`, ms);
  logger.info(
    {
      request_id: requestId,
      method: req.method,
      route: contract?.path ?? 'unmatched',
      status,
      ms: Math.round(ms * 100) / 100,
      bytes_in: Number(req.headers['content-length'] ?? 0),
      bytes_out: bytesOut,
      // pino omits undefined fields.
      code: problemCode,
    },
    'request',
  );
}

const saneRequestId = /^[A-Za-z0-9._-]{1,128}$/;
/**
 * The code nginx logs for a client that left before its response. It is only logged, never sent.
 */
const clientClosedRequest = 499;
const lingerMs = 5_000;

/**
 * Closes the connection when a response was sent before the whole body was read. The client first
 * gets 5 s to finish sending, as with `lingering_close` in nginx. The socket is passed in because
 * Node removes it from a request whose client has left.
 */
function lingerThenClose({ req, writableFinished }: Response, socket: Socket): void {
  if (req.complete || !writableFinished || socket.destroyed) return;
  const timer = setTimeout(() => {
    if (!req.complete) socket.destroy();
  }, lingerMs);
  timer.unref();
  const forget = () => {
    clearTimeout(timer);
    req.off('end', forget);
    socket.off('close', forget);
  };
  req.once('end', forget);
  socket.once('close', forget);
}

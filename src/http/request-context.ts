import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { RequestHandler, Response } from 'express';
import { MalformedError } from '../lib/errors.ts';
import type { LatencyRecorder } from '../telemetry/latency.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Contract, Headers } from './endpoint.ts';
import { fixedHeaders } from './fixed-headers.ts';

/** What the kit knows of a request while it runs. */
export interface RequestContext {
  requestId: string;
  startedAtMs: number;
  /** Set once a route has matched. */
  contract?: Contract;
  /** Code of the problem answered, for the log line. */
  problemCode?: string;
}

/** On the answer itself: a WeakMap costs the garbage collector a look at every entry. */
const contextKey = Symbol('request context');

interface WithContext {
  [contextKey]?: RequestContext;
}

/** @throws Error when `startRequest` has not run, which is a fault of the set-up. */
export function contextOf(res: Response & WithContext): RequestContext {
  const context = res[contextKey];
  if (!context) throw new Error('startRequest() must be mounted first');
  return context;
}

interface Observers {
  logger: Logger;
  metrics: Metrics;
  latency: LatencyRecorder;
}

/**
 * Gives every request its id (the client's when sane) and every answer its headers, has it observed, and refuses what lacks Host
 * (RFC 9112, 3.2). One middleware, because every step of Express costs each request a microsecond.
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
    res.once('close', () => {
      lingerThenClose(res, socket);
      observe(observers, res, socket.bytesWritten - writtenBefore);
    });
    const lacksHost = req.httpVersion === '1.1' && req.headers.host === undefined;
    next(lacksHost ? new MalformedError('malformed_request', 'The Host header is missing') : undefined);
  };
}

export function setHeaders(res: Response, headers: Headers): void {
  for (const name in headers) res.setHeader(name, headers[name] ?? '');
}

/** One log line, one histogram sample and one latency sample per request; the pattern of the path, never the query. */
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
      // pino leaves out what is undefined.
      code: problemCode,
    },
    'request',
  );
}

const saneRequestId = /^[A-Za-z0-9._-]{1,128}$/;
/** nginx's word for a client that left before its answer; never sent, only logged. */
const clientClosedRequest = 499;
const lingerMs = 5_000;

/**
 * An answer sent before the body was read lets the client finish sending for a while (as nginx lingers), then cuts it off. The socket
 * is the one the request came over: Node takes it from a request whose client has gone.
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

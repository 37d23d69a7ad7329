import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import type { LatencyRecorder } from '../telemetry/latency.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Contract, Headers } from './endpoint.ts';

/** What the kit knows of a request while it runs. */
export interface RequestContext {
  requestId: string;
  startedAtMs: number;
  /** Set once a route has matched. */
  contract?: Contract;
  /** Code of the problem answered, for the log line. */
  problemCode?: string;
}

const contexts = new WeakMap<Response, RequestContext>();

/** @throws Error when `startRequest` has not run, which is a fault of the set-up. */
export function contextOf(res: Response): RequestContext {
  const context = contexts.get(res);
  if (!context) throw new Error('startRequest() must be mounted first');
  return context;
}

/** Gives every request its id (the client's when sane), and every answer its default headers. */
export function startRequest(headers: () => Headers): RequestHandler {
  return (req, res, next) => {
    const offered = req.get('x-request-id');
    const requestId = offered !== undefined && saneRequestId.test(offered) ? offered : randomUUID();
    contexts.set(res, { requestId, startedAtMs: performance.now() });
    res.setHeader('X-Request-Id', requestId);
    res.setHeader('Cache-Control', 'no-store');
    setHeaders(res, headers());
    next();
  };
}

export function setHeaders(res: Response, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

/** One log line, one histogram sample and one latency sample per request; the pattern of the path, never the query. */
export function observeRequests({
  logger,
  metrics,
  latency,
}: {
  logger: Logger;
  metrics: Metrics;
  latency: LatencyRecorder;
}): RequestHandler {
  return (req, res, next) => {
    const { socket } = req;
    const writtenBefore = socket.bytesWritten;
    res.once('finish', () => lingerThenClose(res));
    res.once('close', () => {
      const { requestId, startedAtMs, contract, problemCode } = contextOf(res);
      const ms = performance.now() - startedAtMs;
      const aborted = !res.writableFinished;
      const status = aborted ? clientClosedRequest : res.statusCode;
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
          bytes_out: socket.bytesWritten - writtenBefore,
          ...(problemCode === undefined ? {} : { code: problemCode }),
        },
        'request',
      );
    });
    next();
  };
}

const saneRequestId = /^[A-Za-z0-9._-]{1,128}$/;
/** nginx's word for a client that left before its answer; never sent, only logged. */
const clientClosedRequest = 499;
const lingerMs = 5_000;

/** An answer sent before the body was read lets the client finish sending for a while (as nginx lingers), then cuts it off. */
function lingerThenClose(res: Response): void {
  const { req } = res;
  if (req.complete) return;
  const timer = setTimeout(() => {
    if (!req.complete) req.socket.destroy();
  }, lingerMs);
  timer.unref();
  req.once('end', () => clearTimeout(timer));
}

import type { ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { MalformedError } from '../lib/errors.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type Problem, problemContentType, problemHeaders, toProblem } from './problem.ts';
import { contextOf } from './request-context.ts';
import type { RequestLanes } from './request-lanes.ts';
import { watchUnread } from './send-result.ts';

/**
 * Creates the last middleware. It turns every error that no endpoint rendered itself into a problem
 * response.
 */
export function errorHandler(options: AnswerErrorOptions): ErrorRequestHandler {
  return (error, req, res, _next) => answerError(error, { req, res }, options);
}

export interface AnswerErrorOptions {
  logger: Logger;
  /** Counts responses that are not read at once. Those to requests that no route matches are short. */
  lanes?: Pick<RequestLanes, 'noteUnread'>;
}

/**
 * Turns an error into the response. Internal errors are logged in full, other server errors in one
 * line, and errors of the caller only by their code.
 */
export function answerError(
  error: unknown,
  { req, res }: { req: Request; res: Response },
  { logger, lanes }: AnswerErrorOptions,
): void {
  const context = contextOf(res);
  const known = recognizeUriError(error);
  const problem = toProblem(known, { requestId: context.requestId, instance: req.path.slice(0, 2_000) });
  context.problemCode = problem.code;
  if (problem.code === 'internal_error') logger.error({ err: known, request_id: context.requestId }, 'request failed');
  else if (problem.status >= 500) logUnavailable(logger, problem, known, context.requestId);
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.status(problem.status);
  for (const name of ['Content-Type', 'Content-Length', 'Content-Encoding', 'ETag']) res.removeHeader(name);
  res.setHeader('Cache-Control', 'no-store');
  for (const [name, value] of Object.entries(problemHeaders(problem, known))) res.setHeader(name, value);
  if (context.renderError === undefined) sendProblem(problem, res);
  else context.renderError(problem);
  const { sharer } = context;
  if (lanes === undefined || sharer === undefined) return;
  watchUnread(res, Number(res.getHeader('Content-Length')), (bytes) => lanes.noteUnread(sharer, bytes));
}

/** Logs one short line, because in an outage there is one for every request. */
function logUnavailable(logger: Logger, problem: Problem, error: unknown, requestId: string): void {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  const causeCode = cause !== undefined && 'code' in cause ? String(cause.code) : cause?.name;
  logger.warn({ code: problem.code, cause: causeCode, request_id: requestId }, 'request refused');
}

/** Sends a problem as the body of a response that has its status. */
export function sendProblem(problem: Problem, res: ServerResponse): void {
  const body = JSON.stringify(problem);
  res.setHeader('Content-Type', problemContentType);
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.end(body);
}

/**
 * Converts the URIError that Express throws, with status 400, when a path segment does not decode
 * (router/lib/layer.js).
 */
function recognizeUriError(error: unknown): unknown {
  if (!(error instanceof URIError)) return error;
  return new MalformedError('malformed_path', 'The path has invalid percent-encoding', { cause: error });
}

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Headers } from './contract.ts';
import { sendProblem } from './error-handler.ts';
import { type Problem, problemContentType, problemOf } from './problem.ts';
import { errorRendererOf } from './request-context.ts';

/**
 * Refuses input that never became a request. Node's parser and its timers stop before any handler
 * runs, and by default Node writes only a status line (`clientError` in the documentation of
 * node:http).
 * @param current the request of this connection that is being answered. If it is complete, the fault is after it: it
 * is answered, and the connection closed instead of a refusal. So it is when the answer of an incomplete one has begun
 * @param headers what every response has
 */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  current?: ServerResponse,
  headers: Headers = {},
): void {
  const isGone = error.code === 'ECONNRESET' || !socket.writable;
  if (!isGone && current?.req.complete && !current.headersSent) {
    current.setHeader('Connection', 'close');
    return;
  }
  if (isGone || current?.headersSent) {
    socket.destroy();
    return;
  }
  writeProblem(socket, problemOfParser(error), headers);
}

/** Longest time without progress for a client that is told that there is no tunnel. */
const refusedMsMax = 5_000;

/**
 * Refuses CONNECT, which requests a tunnel. Node passes only its socket, and does not watch it any more.
 * @param current the request of this connection that is being answered, as for {@link refuseConnection}
 */
export function refuseTunnel(socket: Socket, current?: ServerResponse, headers: Headers = {}): void {
  // Node has removed its own listeners, and an `error` event without a listener ends the process.
  socket.on('error', () => socket.destroy());
  socket.on('timeout', () => socket.destroy());
  if (current?.headersSent) {
    socket.destroy();
    return;
  }
  if (current !== undefined) {
    current.setHeader('Connection', 'close');
    return;
  }
  socket.setTimeout(refusedMsMax);
  const detail = 'CONNECT is not supported, because this server is not a proxy';
  writeProblem(socket, problemOf('method_not_allowed', 'method_not_allowed', detail, newWhere()), {
    ...headers,
    Allow: '',
  });
}

/**
 * Refuses a request whose body does not arrive in time. Code that reads the body sees a closed
 * connection.
 */
export function refuseSlowBody(response: ServerResponse, detail: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // Node drops its reference to an answered request, so code that reads the body would never see
  // the close.
  const { req } = response;
  req.socket.once('close', () => req.destroy());
  const requestId = response.getHeader('X-Request-Id');
  const where = { ...newWhere(), ...(typeof requestId === 'string' && { requestId }) };
  const problem = problemOf('request_timeout', 'request_timeout', detail, where);
  for (const name of ['Content-Encoding', 'ETag', 'Retry-After']) response.removeHeader(name);
  response.statusCode = problem.status;
  response.setHeader('Connection', 'close');
  response.setHeader('Cache-Control', 'no-store');
  const renderError = errorRendererOf(response);
  if (renderError === undefined) sendProblem(problem, response);
  else renderError(problem);
}

function problemOfParser(error: NodeJS.ErrnoException): Problem {
  const where = newWhere();
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return problemOf('request_timeout', 'request_timeout', 'The request took too long to arrive', where);
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    const detail = 'The request line and headers may have at most 16384 bytes together';
    return problemOf('headers_too_large', 'headers_too_large', detail, where);
  }
  if (error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return problemOf('too_large', 'body_too_large', 'Chunk extensions may have at most 16384 bytes', where);
  }
  // The parser's message names the fault and quotes nothing of the request.
  return problemOf('malformed', 'malformed_request', error.message.slice(0, 200), where);
}

function newWhere() {
  return { requestId: randomUUID(), instance: '' };
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
};

function writeProblem(socket: Duplex, problem: Problem, headers: Headers): void {
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${reasons[problem.status] ?? 'Error'}`,
    'Connection: close',
    `Content-Type: ${problemContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${problem.request_id}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

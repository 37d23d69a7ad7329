import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { refuseConnection } from '../../../src/http/connection-errors.ts';
import { endpoint } from '../../../src/http/endpoint.ts';
import { serve } from '../../support/http-app.ts';

const common = { summary: 's', tag: 't', access: { open: true }, rateClass: 'none' } as const;
let app: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  const body = z.strictObject({ a: z.int() });
  const read = endpoint({
    ...common,
    operationId: 'read',
    method: 'GET',
    path: '/things',
    responses: { 204: { description: 'ok' } },
    handle: async () => ({ status: 204 }),
  });
  const write = endpoint({
    ...common,
    operationId: 'write',
    method: 'POST',
    path: '/things',
    body,
    responses: { 204: { description: 'ok' } },
    handle: async () => ({ status: 204 }),
  });
  app = await serve([read, write], { authorize: async () => undefined, headers: () => ({ 'X-Every': 'response' }) });
});
afterAll(() => app.close());

/** Sends bytes, more of them after an answer if asked, and reads until the server closes. */
function send(text: string, more?: { after: string; text: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(app.port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
      if (more !== undefined && answer.includes(more.after)) socket.write(more.text);
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

const chunked =
  'POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('a body that its client asks about before it is sent', () => {
  const ask = (length: number, type = 'application/json') =>
    `POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;

  test('is taken once it is wanted', async () => {
    const answer = await send(ask(7), { after: '100 Continue', text: '{"a":1}' });
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 204']);
  });

  test.each([
    ['is too large', ask(100_000_000), 413],
    ['is of another type', ask(7, 'text/plain'), 415],
    ['is for a path that does not exist', ask(7).replace('/things', '/nothing'), 404],
  ])('that %s is refused before it is sent', async (_what, request, status) => {
    expect((await send(request)).match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
  });
});

describe('what is not a request', () => {
  test.each<[string, string, number, string]>([
    ['garbage', 'GARBAGE\r\n\r\n', 400, 'malformed_request'],
    ['an unknown method', 'FROB / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'malformed_request'],
    ['a bad header name', 'GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n', 400, 'malformed_request'],
    [
      'two lengths of one body (smuggling)',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['a bad chunk within the body', `${chunked}zz\r\n`, 400, 'malformed_request'],
    ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed_request'],
    ['headers over 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['a path over 16 KiB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
    ['endless chunk extensions', `${chunked}5;${'x'.repeat(20_000)}\r\n`, 413, 'body_too_large'],
    ['a tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405, 'method_not_allowed'],
  ])('%s is a problem, and the connection closes', async (_what, text, status, code) => {
    const [head = '', body = ''] = (await send(text)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/\r\nContent-Type: application\/problem\+json\r\n/);
    expect(head).toMatch(/\r\nConnection: close\r\n/);
    expect(head).toMatch(/\r\nX-Every: response(\r\n|$)/);
    const problem = JSON.parse(body);
    expect(problem).toMatchObject({ status, code, title: expect.stringMatching(/\w/) });
    expect(head).toContain(`X-Request-Id: ${problem.request_id}`);
  });
  test('leaves the service usable', async () => {
    expect((await fetch(`${app.url}/things`)).status).toBe(204);
  });
});

describe('a request that Node would answer by itself', () => {
  test('without Host is 400 in our words and with our headers', async () => {
    const answer = await send('GET /things HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('"code":"malformed_request"');
    expect(answer).toMatch(/X-Content-Type-Options: nosniff/);
  });
  test('of HTTP/1.0 needs no Host', async () => {
    expect(await send('GET /things HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 204 /);
  });
  test('with an expectation that nobody knows is served', async () => {
    const answer = await send('GET /things HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 204 /);
  });
});

describe('paths and parameters', () => {
  test.each(['/things/', '/things?', '/things'])('%s is the same route', async (path) => {
    expect((await fetch(app.url + path)).status).toBe(204);
  });
  test.each(['/Things', '//things', '/things/x', '/things%2f'])('%s is no route', async (path) => {
    expect((await fetch(app.url + path)).status).toBe(404);
  });
  test.each(['*/*', 'text/html', 'application/xml', ''])('Accept: %j is not held against a request', async (accept) => {
    expect((await fetch(`${app.url}/things`, { headers: { accept } })).status).toBe(204);
  });
});

describe('a connection that is refused', () => {
  const timedOut = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

  test('because its request took too long is told 408', async () => {
    const socket = new PassThrough();
    refuseConnection(timedOut, socket);
    expect(String(Buffer.concat(await socket.toArray()))).toMatch(/^HTTP\/1.1 408 [\s\S]*"code":"request_timeout"/);
  });
  test.each<[string, Error, ServerResponse?]>([
    ['within an answer', timedOut, begunAnswer()],
    ['after its client left', Object.assign(new Error('read'), { code: 'ECONNRESET' })],
  ])('%s is cut off without a word', (_what, error, current) => {
    const socket = new PassThrough();
    refuseConnection(error, socket, current);
    expect([socket.destroyed, socket.readableLength]).toEqual([true, 0]);
  });
});

function begunAnswer(): ServerResponse {
  const answer = new ServerResponse(new IncomingMessage(new Socket()));
  answer.flushHeaders();
  return answer;
}

import { randomBytes } from 'node:crypto';
import { request as rawRequest } from 'node:http';
import { connect } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { endpointsFor } from '../../../src/http/endpoint.ts';
import { integerParam, repeatedParam } from '../../../src/http/query.ts';
import { NotFoundError, RateLimitedError, UnauthenticatedError, UnavailableError } from '../../../src/lib/errors.ts';
import { serve } from '../../support/http-app.ts';

interface Caller {
  name: string;
}
const { endpoint, rawEndpoint } = endpointsFor<Caller>();
const ok = { description: 'ok' };

const thing = z.strictObject({
  name: z.string().max(10),
  tags: z.array(z.strictObject({ label: z.string() })).optional(),
});

const failures: Record<string, () => Error> = {
  missing: () => new NotFoundError('prompt_not_found', 'no prompt "x"'),
  rate: () => new RateLimitedError('rate_limited', 'slow down', { retryAfterS: 2.2 }),
  away: () => new UnavailableError('dependency_unavailable', 'redis is away', { retryAfterS: 0 }),
  bug: () => Object.assign(new Error('bug-canary in select * from users'), { detail: 'bug-canary' }),
};

const endpoints = [
  endpoint({
    operationId: 'readThing',
    method: 'GET',
    path: '/things/{thing_id}',
    summary: 'Read a thing',
    tag: 'things',
    access: { scope: 'things:read' },
    rateClass: 'read',
    params: z.strictObject({ thing_id: z.string().max(20) }),
    query: z.strictObject({
      limit: integerParam({ min: 1, max: 100 }).default(20),
      tag: repeatedParam(z.string()).optional(),
    }),
    responses: {
      200: {
        ...ok,
        schema: z.object({ id: z.string(), limit: z.number(), tags: z.array(z.string()), caller: z.string() }),
      },
    },
    handle: async ({ params, query, principal }) => ({
      status: 200,
      body: { id: params.thing_id, limit: query.limit, tags: query.tag ?? [], caller: principal.name },
      headers: { 'Cache-Control': 'private, max-age=60' },
    }),
  }),
  endpoint({
    operationId: 'checkThing',
    method: 'POST',
    path: '/things/validate',
    summary: 'Check a thing',
    tag: 'things',
    access: { scope: 'things:write' },
    rateClass: 'write',
    body: thing,
    bodyBytesMax: 10_000,
    responses: { 201: { ...ok, schema: thing }, 204: ok },
    handle: async ({ body }) => ({ status: 201, body }),
  }),
  endpoint({
    operationId: 'fail',
    method: 'POST',
    path: '/fail/{how}',
    summary: 'Fail',
    tag: 'things',
    access: { open: true },
    rateClass: 'none',
    params: z.strictObject({ how: z.string() }),
    responses: { 204: ok },
    handle: async ({ params, principal }) => {
      const nobody: undefined = principal;
      throw failures[params.how]?.() ?? nobody ?? new Error('unknown failure');
    },
  }),
  endpoint({
    operationId: 'optionalBody',
    method: 'POST',
    path: '/optional',
    summary: 'Do something',
    tag: 'things',
    access: { open: true },
    rateClass: 'none',
    body: z.strictObject({ free: z.unknown().optional() }).default({}),
    responses: { 200: { ...ok, schema: z.unknown() } },
    handle: async ({ body }) => ({ status: 200, body }),
  }),
  rawEndpoint({
    operationId: 'rawBytes',
    method: 'POST',
    path: '/raw',
    summary: 'Count bytes',
    tag: 'things',
    access: { scope: 'things:write' },
    rateClass: 'ingest',
    query: z.strictObject({ fail: z.string().optional() }),
    responses: { 200: ok },
    handle: async (req, res, { principal, query }) => {
      if (query.fail) throw failures[query.fail]?.() ?? new Error('unknown failure');
      let count = 0;
      for await (const chunk of req) count += Buffer.from(chunk).length;
      res.status(200).type('text/plain').end(`${principal.name} sent ${count}`);
    },
    renderError: (problem, _req, res) => {
      res.type('text/plain').end(`own:${problem.status}:${problem.code}`);
    },
  }),
];

let app: Awaited<ReturnType<typeof serve<Caller>>>;
const admitted: string[] = [];
beforeAll(async () => {
  app = await serve<Caller>(endpoints, {
    authorize: async (req) => {
      const name = req.get('x-api-key');
      if (!name) throw new UnauthenticatedError('credentials_required', 'No credentials were given');
      return { name };
    },
    admit: async (_req, res, { operationId }, principal) => {
      admitted.push(`${operationId} ${principal?.name}`);
      res.setHeader('X-RateLimit-Limit', '42');
    },
    headers: () => ({ 'X-RateLimit-Limit': '1000000' }),
  });
});
afterAll(() => app.close());

const key = { 'x-api-key': 'alice' };
const json = { ...key, 'content-type': 'application/json' };
async function call(path: string, init: RequestInit = {}) {
  const response = await fetch(app.url + path, init);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text ? JSON.parse(text) : undefined,
  };
}
const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  call(path, { method: 'POST', body, headers: { ...json, ...headers } });

/** Sends bytes as they are, for requests fetch refuses to make. */
function send(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(app.port, '127.0.0.1', () => socket.end(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}

describe('a request that is right', () => {
  test('reaches the handler with params, query and principal typed and parsed', async () => {
    const answer = await call('/things/a%20b?limit=7&tag=x&tag=y+z', { headers: key });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ id: 'a b', limit: 7, tags: ['x', 'y z'], caller: 'alice' });
    expect(answer.headers.get('content-type')).toBe('application/json');
  });
  test('takes the more specific path first', async () => {
    const answer = await post('/things/validate', '{"name":"n"}');
    expect([answer.status, answer.body]).toEqual([201, { name: 'n' }]);
  });
  test.each(['gzip', 'deflate'])('may be sent as %s', async (encoding) => {
    const bytes = encoding === 'gzip' ? gzipSync('{"name":"n"}') : deflateSync('{"name":"n"}');
    expect((await post('/things/validate', bytes, { 'content-encoding': encoding })).status).toBe(201);
  });
  test('may leave a body out when its schema has a default, and start with a byte order mark', async () => {
    expect((await call('/optional', { method: 'POST' })).body).toEqual({});
    expect((await post('/optional', '\ufeff{"free":1}')).body).toEqual({ free: 1 });
  });
});

describe('headers of every answer', () => {
  test('a sane request id is echoed, another is replaced', async () => {
    const sane = await call('/things/1', { headers: { ...key, 'x-request-id': 'abc-1.2_3' } });
    expect(sane.headers.get('x-request-id')).toBe('abc-1.2_3');
    for (const bad of ['a b', 'x'.repeat(129), '<script>']) {
      const answer = await call('/nowhere', { headers: { 'x-request-id': bad } });
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
    }
  });
  test('are not cacheable unless the handler says so, carry helmet headers and no X-Powered-By', async () => {
    const own = await call('/things/1', { headers: key });
    expect(own.headers.get('cache-control')).toBe('private, max-age=60');
    const other = await post('/optional', '{}');
    expect(other.headers.get('cache-control')).toBe('no-store');
    expect(other.headers.get('x-content-type-options')).toBe('nosniff');
    expect(other.headers.get('x-powered-by')).toBeNull();
    expect(other.headers.get('etag')).toBeNull();
  });
  test('admit overwrites the default headers, errors before it keep the default', async () => {
    expect((await call('/things/1', { headers: key })).headers.get('x-ratelimit-limit')).toBe('42');
    expect((await call('/nowhere')).headers.get('x-ratelimit-limit')).toBe('1000000');
    expect(admitted).toContain('readThing alice');
    expect(admitted).toContain('optionalBody undefined');
  });
});

describe('routing', () => {
  test('an unknown route is a 404 problem', async () => {
    const answer = await call('/nowhere?key=secret-canary');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toMatchObject({ code: 'route_not_found', status: 404, instance: '/nowhere' });
    expect(answer.text).not.toContain('secret-canary');
  });
  test.each(['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])(
    '%s on a route without it is 405 with Allow',
    async (method) => {
      const answer = await send(`${method} /things/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 405 /);
      expect(answer).toMatch(/\r\nAllow: GET, HEAD, OPTIONS\r\n/);
      expect(answer).toContain('"code":"method_not_allowed"');
    },
  );
  test('OPTIONS is 204 with Allow and needs no credentials', async () => {
    const answer = await call('/things/1', { method: 'OPTIONS' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });
  test('HEAD answers as GET does, without a body', async () => {
    const answer = await call('/things/1', { method: 'HEAD', headers: key });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(10);
  });
  test.each(['/things/%zz', '/things/%ff', '/things/a%00b'])('the path %s is 400 malformed_path', async (path) => {
    const answer = await call(path, { headers: key });
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_path']);
  });
  test('a path parameter its schema refuses is 422', async () => {
    const answer = await call(`/things/${'x'.repeat(21)}`, { headers: key });
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_path_parameter']);
    expect(answer.body.errors[0].path).toBe('thing_id');
  });
});

describe('authentication', () => {
  test('comes before query and body are looked at', async () => {
    const answer = await call('/things/validate?wrong=1', { method: 'POST', body: 'not json' });
    expect([answer.status, answer.body.code]).toEqual([401, 'credentials_required']);
    expect(answer.headers.get('www-authenticate')).toBeTruthy();
  });
  test('is refused while the body is still being sent', async () => {
    const status = await new Promise((resolve, reject) => {
      const req = rawRequest(`${app.url}/raw`, { method: 'POST', headers: { 'content-length': '1000000' } }, (res) => {
        resolve(res.statusCode);
        req.destroy();
      });
      req.on('error', reject);
      req.write('the first bytes');
    });
    expect(status).toBe(401);
  });
});

describe('a query that is wrong', () => {
  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=', 'limit'],
    ['limit=5&limit=6', 'limit'],
    ['tag=%zz', 'tag'],
    ['tag=a%00', 'tag'],
  ])('%s is 400 invalid_parameter naming it', async (query, name) => {
    const answer = await call(`/things/1?${query}`, { headers: key });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_parameter']);
    expect(answer.body.detail).toContain(name);
  });
  test.each(['limti=5', '__proto__=1', 'constructor=1'])(
    'an unknown parameter %s is 400 unknown_parameter',
    async (query) => {
      const answer = await call(`/things/1?${query}`, { headers: key });
      expect([answer.status, answer.body.code]).toEqual([400, 'unknown_parameter']);
      expect(answer.body.errors[0].path).toBe(query.split('=')[0]);
    },
  );
  test('a near miss is told the right name', async () => {
    const answer = await call('/things/1?limti=5', { headers: key });
    expect(answer.body.detail).toContain('did you mean "limit"');
  });
});

describe('a body that is wrong', () => {
  test.each<[string, string, number, string]>([
    ['is not JSON', '{"name":', 400, 'malformed_json'],
    ['is missing', '', 422, 'invalid_body'],
    ['has an unknown field', '{"name":"n","nmae":1}', 400, 'unknown_field'],
    ['has an unknown nested field', '{"name":"n","tags":[{"label":"l","labl":1}]}', 400, 'unknown_field'],
    ['has a __proto__ field', '{"name":"n","__proto__":{"x":1}}', 400, 'unknown_field'],
    ['lacks a required field', '{}', 422, 'invalid_body'],
    ['has a wrong type', '{"name":3}', 422, 'invalid_body'],
    ['is a list', '[]', 422, 'invalid_body'],
    ['is over a limit', '{"name":"12345678901"}', 422, 'invalid_body'],
    ['holds NUL', '{"name":"a\\u0000"}', 422, 'invalid_body'],
    ['holds a lone surrogate', '{"name":"a\\ud800"}', 422, 'invalid_body'],
    ['holds NUL in a key', '{"name":"n","a\\u0000":1}', 422, 'invalid_body'],
    ['holds a number beyond 64 bits', '{"name":1e400}', 422, 'invalid_body'],
    ['is a number beyond 64 bits', '-1e400', 422, 'invalid_body'],
    ['is nested too deeply', `${'['.repeat(65)}${']'.repeat(65)}`, 400, 'json_too_deep'],
    ['is nested far too deeply', `${'['.repeat(4_000)}${']'.repeat(4_000)}`, 400, 'json_too_deep'],
    ['is too large', JSON.stringify({ name: 'x'.repeat(10_001) }), 413, 'body_too_large'],
  ])('that %s', async (_what, body, status, code) => {
    const answer = await post('/things/validate', body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });
  test('names path, code and value, with a suggestion for a near miss', async () => {
    const unknown = await post('/things/validate', '{"name":"n","tags":[{"label":"l","labl":1}]}');
    expect(unknown.body.errors).toEqual([
      { path: 'tags[0].labl', code: 'unknown_field', message: '"labl" does not exist; did you mean "label"?' },
    ]);
    const long = await post('/things/validate', '{"name":"12345678901"}');
    expect(long.body.errors[0]).toMatchObject({ path: 'name', code: 'too_big' });
    expect(long.body.detail).toMatch(/10 characters.*"12345678901"/);
    const lacking = await post('/things/validate', '{}');
    expect(lacking.body.errors).toEqual([{ path: 'name', code: 'required', message: 'is required' }]);
  });
  test('says where text is that cannot be stored', async () => {
    const answer = await post('/optional', '{"free":[{"a":["ok","b\\u0000"]}]}');
    expect(answer.body.errors).toEqual([
      { path: 'free[0].a[1]', code: 'unstorable_text', message: expect.stringContaining('"b\\u0000"') },
    ]);
  });
  test('says where a number is that 64 bits cannot hold, and takes the largest that they can', async () => {
    const answer = await post('/optional', '{"free":[{"a":[1,-1e400]}]}');
    expect(answer.body.errors).toEqual([
      { path: 'free[0].a[1]', code: 'number_out_of_range', message: expect.stringContaining('1.7976931348623157e308') },
    ]);
    expect((await post('/optional', '{"free":[1.7976931348623157e308,1e-400]}')).status).toBe(200);
  });
  test('64 levels are still accepted', async () => {
    const nested = `${'['.repeat(63)}${']'.repeat(63)}`;
    expect((await post('/optional', `{"free":${nested}}`)).status).toBe(200);
    expect((await post('/optional', `{"free":[${nested}]}`)).status).toBe(400);
  });
  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset=latin1', 415],
    ['application/json; charset=UTF-8', 201],
  ])('of type %s is %i', async (type, status) => {
    const answer = await post('/things/validate', '{"name":"n"}', { 'content-type': type });
    expect(answer.status).toBe(status);
    if (status === 415) expect(answer.body.code).toBe('unsupported_media_type');
  });
  test.each(['br', 'gzip, gzip', 'constructor'])('in the encoding %s is 415', async (encoding) => {
    const answer = await post('/things/validate', gzipSync('{"name":"n"}'), { 'content-encoding': encoding });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_content_encoding']);
  });
  test.each([
    ['garbage', randomBytes(50)],
    ['cut short', gzipSync(`{"name":"${randomBytes(50).toString('hex')}"}`).subarray(0, 40)],
  ])('that is %s as gzip is 400 corrupt_body', async (_what, bytes) => {
    const answer = await post('/things/validate', Uint8Array.from(bytes), { 'content-encoding': 'gzip' });
    expect([answer.status, answer.body.code]).toEqual([400, 'corrupt_body']);
  });
  test('that is not UTF-8 is 400 malformed_json', async () => {
    const answer = await post('/things/validate', Uint8Array.from([0x22, 0xff, 0x22]));
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json']);
  });
  test('that inflates over the bound is 413 without being inflated', async () => {
    const before = process.memoryUsage().rss;
    const answer = await post('/optional', gzipSync(Buffer.alloc(200 * 1024 * 1024)), { 'content-encoding': 'gzip' });
    expect([answer.status, answer.body.code]).toEqual([413, 'body_too_large']);
    expect(process.memoryUsage().rss - before).toBeLessThan(500 * 1024 * 1024);
  });
  test('that is chunked and too large is 413 while it is being sent', async () => {
    const status = await new Promise((resolve, reject) => {
      const req = rawRequest(`${app.url}/things/validate`, { method: 'POST', headers: json }, (res) => {
        resolve(res.statusCode);
        req.destroy();
      });
      req.on('error', reject);
      req.write(`{"name":"${'x'.repeat(11_000)}`);
    });
    expect(status).toBe(413);
  });
  test('in a transfer coding beside chunked is 415, not read as it is', async () => {
    const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const headers = { ...json, 'transfer-encoding': 'gzip, chunked' };
      const req = rawRequest(`${app.url}/things/validate`, { method: 'POST', headers }, async (res) => {
        resolve({ status: res.statusCode, text: String(Buffer.concat(await res.toArray())) });
      });
      req.on('error', reject);
      req.end('{"name":"n"}');
    });
    expect(answer).toEqual({ status: 415, text: expect.stringContaining('Transfer-Encoding must be chunked') });
  });
  test('leaves the connection and the service usable', async () => {
    expect((await post('/things/validate', '{"name":"n"}')).status).toBe(201);
  });
});

describe('errors of handlers', () => {
  test('an AppError becomes its problem', async () => {
    const answer = await call('/fail/missing', { method: 'POST', headers: { 'x-request-id': 'r1' } });
    expect(answer.body).toEqual({
      type: 'urn:promptlane:problem:prompt_not_found',
      title: 'The project does not have this prompt',
      status: 404,
      detail: 'no prompt "x"',
      instance: '/fail/missing',
      code: 'prompt_not_found',
      request_id: 'r1',
    });
  });
  test('429 and 503 carry Retry-After in whole seconds, at least 1', async () => {
    expect((await call('/fail/rate', { method: 'POST' })).headers.get('retry-after')).toBe('3');
    const away = await call('/fail/away', { method: 'POST' });
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, '1']);
  });
  test('anything else is 500 internal_error that leaks nothing and is logged with its request id', async () => {
    const answer = await call('/fail/bug', { method: 'POST', headers: { 'x-request-id': 'bug-1' } });
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('canary');
    const line = app.log.records().find((record) => record.request_id === 'bug-1' && record.err);
    expect(line.err.type).toBe('Error');
    expect(line.err.detail).toBeUndefined();
  });
});

describe('a raw endpoint', () => {
  test('reads its own body and knows the principal', async () => {
    expect((await post('/raw', 'x'.repeat(100_000))).text).toBe('alice sent 100000');
  });
  test('renders every error in its own shape, from authentication to bugs', async () => {
    expect((await call('/raw', { method: 'POST' })).text).toBe('own:401:credentials_required');
    expect((await post('/raw?x=1', '')).text).toBe('own:400:unknown_parameter');
    expect((await post('/raw?fail=bug', '')).text).toBe('own:500:internal_error');
    const away = await post('/raw?fail=away', '');
    expect([away.text, away.headers.get('retry-after')]).toEqual(['own:503:dependency_unavailable', '1']);
  });
});

describe('observation', () => {
  test('a request is one log line with the pattern of its path and nothing secret', async () => {
    await call('/things/private-id?tag=secret-canary', {
      headers: { 'x-api-key': 'key-canary', 'x-request-id': 'seen-1' },
    });
    const line = await vi.waitUntil(() => app.log.records().find((record) => record.request_id === 'seen-1'));
    expect(line).toMatchObject({ msg: 'request', method: 'GET', route: '/things/{thing_id}', status: 200 });
    expect(line.ms).toBeGreaterThan(0);
    expect(app.log.text()).not.toMatch(/private-id|secret-canary|key-canary/);
  });
  test('is counted by operation and recorded by route', async () => {
    const text = await app.metrics.registry.metrics();
    expect(text).toMatch(
      /http_request_duration_seconds_count\{operation="readThing",method="GET",status="200"\} [1-9]/,
    );
    expect(app.latency.summary('GET /things/{thing_id}').count).toBeGreaterThan(0);
  });
});

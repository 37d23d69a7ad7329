import { request } from 'node:http';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintApiKey } from '../../../src/domains/auth/index.ts';
import { listen } from '../../../src/http/server.ts';
import { newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { encodeSpans } from '../../support/otlp-encode.ts';
import { aSpan, newTraceId } from '../../support/spans.ts';
import {
  contentTypes,
  decodeResponse,
  decodeStatus,
  type Encoding,
  type ExportAnswer,
  postTraces,
  untilStored,
} from '../../support/traces.ts';

const encodings = ['protobuf', 'json'] as const;
const limits = { otlpBodyBytesMax: 4_096, otlpInflatedBytesMax: 16_384 };

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi(limits);
  project = await newProject(api);
});
afterAll(() => api.close());

/** One span of the trace in an encoding. */
function bodyOf(encoding: Encoding, traceId = newTraceId()): Buffer<ArrayBuffer> {
  return Buffer.from(encodeSpans(encoding, [aSpan({ traceId })]));
}

function post(encoding: Encoding, body: Uint8Array<ArrayBuffer> | string, headers: Record<string, string> = {}) {
  return postTraces(api, project.key, body, { 'Content-Type': contentTypes[encoding], ...headers });
}

/** Sends headers exactly as they are written, and the body in chunks unless a length is given. */
function postRaw(headers: Record<string, string>, chunks: readonly Uint8Array[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${api.url}/api/v1/traces`, { method: 'POST', headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    outgoing.once('error', reject);
    for (const chunk of chunks) outgoing.write(chunk);
    outgoing.end();
  });
}

function expectStatus(answer: ExportAnswer, encoding: Encoding, status: number, code: number, message: RegExp) {
  const decoded = decodeStatus(encoding, answer.bytes);
  expect({ status: answer.status, code: decoded.code }, decoded.message).toEqual({ status, code });
  expect(decoded.message).toMatch(message);
  expect(answer.headers.get('content-type')).toBe(contentTypes[encoding]);
  return decoded;
}

describe('200', () => {
  test.each(encodings)('spans in %s are accepted with an empty message and become readable', async (encoding) => {
    const traceId = newTraceId();
    const answer = await post(encoding, bodyOf(encoding, traceId));
    expect([answer.status, answer.bytes.toString()]).toEqual([200, encoding === 'json' ? '{}' : '']);
    expect(answer.headers.get('content-type')).toBe(contentTypes[encoding]);
    await untilStored(api, project, traceId);
  });

  test.each([
    ['protobuf', '', 'no bytes'],
    ['json', '{}', 'an empty object'],
    ['json', '{"resourceSpans":[]}', 'no resources'],
    ['json', '{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}', 'an empty envelope'],
  ] as const)('an empty request in %s (%j: %s) is a success', async (encoding, body, _case) => {
    const answer = await post(encoding, body);
    expect([answer.status, decodeResponse(encoding, answer.bytes)]).toEqual([200, {}]);
  });

  test.each(encodings)('a bad span beside a good one in %s is counted and the good one kept', async (encoding) => {
    const traceId = newTraceId();
    const spans = [aSpan({ traceId }), aSpan({ traceId: '00'.repeat(16) }), aSpan({ spanId: 'abcd' })];
    const answer = await post(encoding, Buffer.from(encodeSpans(encoding, spans)));
    expect([answer.status, decodeResponse(encoding, answer.bytes)]).toEqual([
      200,
      { partialSuccess: { rejectedSpans: '2', errorMessage: expect.stringContaining('spanId must be 8 bytes') } },
    ]);
    await untilStored(api, project, traceId);
  });

  test('an unknown top-level key in JSON is a warning with nothing rejected', async () => {
    const answer = await post('json', '{"resource_spans":[]}');
    expect([answer.status, decodeResponse('json', answer.bytes)]).toEqual([
      200,
      { partialSuccess: { errorMessage: expect.stringContaining('resource_spans') } },
    ]);
  });

  test.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['identity', (body: Buffer) => body],
  ] as const)('a body with Content-Encoding %s is inflated (%o)', async (coding, compress) => {
    const traceId = newTraceId();
    const body = Buffer.from(compress(bodyOf('protobuf', traceId)));
    const answer = await post('protobuf', body, { 'Content-Encoding': coding });
    expect(answer.status).toBe(200);
    await untilStored(api, project, traceId);
  });

  test.each(['X-API-Key', 'x-api-key', 'X-API-KEY', 'x-Api-kEY'])('the key in %s is taken', async (name) => {
    const body = bodyOf('json');
    const headers = { [name]: project.key, 'content-type': 'application/json', 'content-length': String(body.length) };
    expect(await postRaw(headers, [body])).toBe(200);
  });

  test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"'])(
    'the content type %s is JSON',
    async (type) => {
      const answer = await postTraces(api, project.key, bodyOf('json'), { 'Content-Type': type });
      expect(answer.status).toBe(200);
    },
  );

  test('a body in chunks without Content-Length is read whole', async () => {
    const traceId = newTraceId();
    const body = bodyOf('protobuf', traceId);
    const headers = { 'X-API-Key': project.key, 'Content-Type': contentTypes.protobuf };
    const chunks = [body.subarray(0, 7), body.subarray(7, 20), body.subarray(20)];
    expect(await postRaw(headers, chunks)).toBe(200);
    await untilStored(api, project, traceId);
  });

  test('a key with only traces:write is enough', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['traces:write'] });
    const answer = await postTraces(api, key, bodyOf('protobuf'));
    expect(answer.status).toBe(200);
  });
});

describe('400', () => {
  test.each([
    ['protobuf', 'garbage', 'Not an OTLP'],
    ['protobuf', bodyOf('protobuf').subarray(0, -3), 'Not an OTLP'],
    ['json', '{"resourceSpans":', 'JSON'],
    ['json', '[]', 'JSON'],
    ['json', '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}', 'spans'],
    ['json', '{} {}', 'JSON'],
  ] as const)('a malformed body in %s (%s) is refused in words', async (encoding, body, word) => {
    const answer = await post(encoding, typeof body === 'string' ? body : Buffer.from(body));
    expectStatus(answer, encoding, 400, 3, new RegExp(word));
  });

  test.each(['gzip', 'deflate'])('a body that is not %s although it says so is refused', async (coding) => {
    const answer = await post('protobuf', bodyOf('protobuf'), { 'Content-Encoding': coding });
    expectStatus(answer, 'protobuf', 400, 3, /corrupt/);
  });

  test('a gzip body that breaks off is refused', async () => {
    const body = gzipSync(bodyOf('json')).subarray(0, -10);
    expectStatus(await post('json', Buffer.from(body), { 'Content-Encoding': 'gzip' }), 'json', 400, 3, /corrupt/);
  });

  test.each(encodings)('a request whose every span is bad is refused in %s with the violations', async (encoding) => {
    const spans = [aSpan({ traceId: '' }), aSpan({ spanId: '' })];
    const answer = await post(encoding, Buffer.from(encodeSpans(encoding, spans)));
    const { fieldViolations } = expectStatus(answer, encoding, 400, 3, /All 2 spans were rejected/);
    expect(fieldViolations).toEqual([
      { field: 'resource_spans', description: expect.stringContaining('traceId') },
      { field: 'resource_spans', description: expect.stringContaining('spanId') },
    ]);
  });

  test('a logs export posted here is refused', async () => {
    // ResourceLogs { ScopeLogs { LogRecord { time_unix_nano: 1, body: "hi" } } }: the field numbers of traces.
    const record = Buffer.from('0900000000000000012a040a026869', 'hex');
    const wrap = (tag: number, inner: Buffer) => Buffer.concat([Buffer.from([tag, inner.length]), inner]);
    const logs = wrap(0x0a, wrap(0x12, wrap(0x12, record)));
    expectStatus(await post('protobuf', Buffer.from(logs)), 'protobuf', 400, 3, /./);
  });
});

describe('401', () => {
  test.each(encodings)('a request in %s without a key is challenged, in its encoding', async (encoding) => {
    const headers = { 'Content-Type': contentTypes[encoding] };
    const response = await fetch(`${api.url}/api/v1/traces`, { method: 'POST', headers, body: bodyOf(encoding) });
    const answer = { ...response, status: response.status, headers: response.headers };
    const bytes = Buffer.from(await response.arrayBuffer());
    expectStatus({ ...answer, bytes }, encoding, 401, 16, /X-API-Key/);
    expect(response.headers.get('www-authenticate')).toMatch(/\S/);
  });

  test('unknown, misshapen, mistyped and mis-checksummed keys get the same answer', async () => {
    const { key } = project;
    const lastChanged = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    const keys = [mintApiKey(api.config.apiKeyPepper).key, 'pl_nonsense', lastChanged, `${key}x`, key.toUpperCase()];
    const bodies = new Set<string>();
    for (const wrong of keys) {
      const answer = await postTraces(api, wrong, bodyOf('json'), { 'Content-Type': contentTypes.json });
      expectStatus(answer, 'json', 401, 16, /not valid/);
      bodies.add(answer.bytes.toString());
    }
    expect(bodies.size).toBe(1);
  });

  test('a key with a right id and checksum but another secret is refused', async () => {
    const other = mintApiKey('another pepper, another secret');
    const { prefix } = await newKey(api, project.id, {});
    await api
      .postgres('api_keys')
      .where({ lookup_id: prefix.slice(3) })
      .update({ lookup_id: other.lookupId });
    const answer = await postTraces(api, other.key, bodyOf('protobuf'));
    expectStatus(answer, 'protobuf', 401, 16, /not valid/);
  });

  test('an expired key is refused', async () => {
    const { id, key } = await newKey(api, project.id, { expires_at: new Date(Date.now() + 60_000).toISOString() });
    await api
      .postgres('api_keys')
      .where({ id })
      .update({ expires_at: new Date(Date.now() - 1_000) });
    expectStatus(await postTraces(api, key, bodyOf('protobuf')), 'protobuf', 401, 16, /expired/);
  });

  test('a revoked key is refused', async () => {
    const { id, key } = await newKey(api, project.id, {});
    await api.postgres('api_keys').where({ id }).update({ revoked_at: new Date() });
    expectStatus(await postTraces(api, key, bodyOf('protobuf')), 'protobuf', 401, 16, /revoked/);
  });
});

describe('403', () => {
  test.each(encodings)('a key without traces:write is refused in %s', async (encoding) => {
    const { key } = await newKey(api, project.id, { preset: 'read_only' });
    const answer = await postTraces(api, key, bodyOf(encoding), { 'Content-Type': contentTypes[encoding] });
    expectStatus(answer, encoding, 403, 7, /traces:write/);
  });

  test('the admin key is refused: it names no project', async () => {
    const headers = { 'X-Admin-Key': api.config.adminApiKey, 'Content-Type': contentTypes.json };
    const response = await fetch(`${api.url}/api/v1/traces`, { method: 'POST', headers, body: bodyOf('json') });
    const bytes = Buffer.from(await response.arrayBuffer());
    expectStatus({ status: response.status, headers: response.headers, bytes }, 'json', 403, 7, /API key/);
  });
});

describe('405', () => {
  test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('%s is answered with Allow and a Status', async (method) => {
    const response = await fetch(`${api.url}/api/v1/traces`, { method, headers: { 'X-API-Key': project.key } });
    const bytes = Buffer.from(await response.arrayBuffer());
    expectStatus({ status: response.status, headers: response.headers, bytes }, 'json', 405, 12, new RegExp(method));
    expect(response.headers.get('allow')).toMatch(/\bPOST\b/);
  });
});

describe('408', () => {
  test.each(
    ['traces', 'logs', 'metrics'].flatMap((signal) => encodings.map((encoding) => [signal, encoding] as const)),
  )('a body of %s in %s that stops arriving is refused with a Status', async (signal, encoding) => {
    const arrival = { idleMsMax: 50, graceMs: 10_000, bytesPerS: 1, everyMs: 20 };
    const server = await listen({ app: api.process.app, port: 0, host: '127.0.0.1', arrival });
    const headers = { 'X-API-Key': project.key, 'Content-Type': contentTypes[encoding], 'Content-Length': '1000' };
    const options = { port: server.port, path: `/api/v1/${signal}`, method: 'POST', headers };
    const answer = await new Promise<ExportAnswer>((resolve, reject) => {
      const outgoing = request(options, async (response) => {
        const bytes = Buffer.concat(await response.toArray());
        const sent = new Headers(response.headersDistinct as Record<string, [string]>);
        resolve({ status: response.statusCode ?? 0, headers: sent, bytes });
      });
      outgoing.once('error', reject);
      outgoing.write('xx');
    }).finally(() => server.close(0));
    expectStatus(answer, encoding, 408, 4, /No byte of the body/);
    expect(answer.headers.get('connection')).toBe('close');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });
});

describe('413', () => {
  const big = Buffer.alloc(limits.otlpBodyBytesMax + 1);

  test.each(encodings)('a body in %s over the limit as received is refused, naming the limit', async (encoding) => {
    expectStatus(await post(encoding, big), encoding, 413, 8, new RegExp(String(limits.otlpBodyBytesMax)));
  });

  test('a body in chunks is counted while it comes', async () => {
    const headers = { 'X-API-Key': project.key, 'Content-Type': contentTypes.protobuf };
    expect(await postRaw(headers, [big.subarray(0, 1_000), big.subarray(1_000)])).toBe(413);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
  ] as const)('a %s bomb is refused at the limit, naming it (%o)', async (coding, compress) => {
    const bomb = Buffer.from(compress(Buffer.alloc(3 * 1024 * 1024)));
    expect(bomb.length).toBeLessThan(limits.otlpBodyBytesMax);
    const answer = await post('protobuf', bomb, { 'Content-Encoding': coding });
    expectStatus(answer, 'protobuf', 413, 8, new RegExp(String(limits.otlpInflatedBytesMax)));
  });

  test('a body of exactly the limit is not too large', async () => {
    const text = `{"resourceSpans":[]${' '.repeat(limits.otlpBodyBytesMax - 20)}}`;
    expect([text.length, (await post('json', text)).status]).toEqual([limits.otlpBodyBytesMax, 200]);
  });
});

describe('415', () => {
  test.each([
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'application/protobuf',
  ])('the content type "%s" is refused with a Status in JSON', async (type) => {
    expectStatus(
      await postTraces(api, project.key, bodyOf('json'), { 'Content-Type': type }),
      'json',
      415,
      3,
      /Content-Type/,
    );
  });

  test.each(['br', 'snappy', 'gzip, gzip', 'compress'])('the content encoding "%s" is refused', async (coding) => {
    const answer = await post('protobuf', bodyOf('protobuf'), { 'Content-Encoding': coding });
    expectStatus(answer, 'protobuf', 415, 3, /Content-Encoding/);
    expect(answer.headers.get('accept-encoding')).toBe('gzip, deflate');
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../../src/http/endpoint.ts';
import { contentEtag, formatEtag, noneMatchHolds, parseIfMatch, requireMatch } from '../../../src/http/etag.ts';
import { serve } from '../../support/http-app.ts';

const common = { summary: 's', tag: 't', access: { open: true }, rateClass: 'none' } as const;
const ok = { 200: { description: 'ok', schema: z.object({ version: z.int() }) } };

const endpoints = [
  endpoint({
    ...common,
    operationId: 'readThing',
    method: 'GET',
    path: '/things',
    responses: ok,
    handle: async () => ({ status: 200, body: { version: 7 }, etag: 'v7' }),
  }),
  endpoint({
    ...common,
    operationId: 'readVersion',
    method: 'GET',
    path: '/things/versions/7',
    responses: ok,
    handle: async () => ({ status: 200, body: { version: 7 }, etag: 'v7', immutable: true }),
  }),
  endpoint({
    ...common,
    operationId: 'replaceThing',
    method: 'PUT',
    path: '/things',
    conditional: true,
    responses: ok,
    handle: async ({ ifMatch }) => {
      requireMatch(ifMatch, 'v7');
      return { status: 200, body: { version: 8 }, etag: 'v8' };
    },
  }),
  endpoint({
    ...common,
    operationId: 'replaceNothing',
    method: 'PUT',
    path: '/nothing',
    conditional: true,
    responses: ok,
    handle: async ({ ifMatch }) => {
      requireMatch(ifMatch, undefined);
      return { status: 200, body: { version: 1 } };
    },
  }),
  ...(['PUT', 'PATCH', 'DELETE', 'POST'] as const).map((method) =>
    endpoint({
      ...common,
      operationId: `change${method}Untagged`,
      method,
      path: '/untagged',
      responses: ok,
      handle: async () => ({ status: 200, body: { version: 1 } }),
    }),
  ),
];

let app: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  app = await serve(endpoints, { authorize: async () => undefined, headers: () => ({ 'X-RateLimit-Limit': '10' }) });
});
afterAll(() => app.close());

const call = (path: string, init: RequestInit = {}) => fetch(app.url + path, init);

describe('a read with an entity tag', () => {
  test('carries it, and may be kept by the caller but asked for again', async () => {
    const answer = await call('/things');
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"v7"']);
    expect(answer.headers.get('cache-control')).toBe('private, no-cache');
    expect(answer.headers.get('vary')).toMatch(/Authorization/);
  });
  test('that never changes is cacheable for a year', async () => {
    const answer = await call('/things/versions/7');
    expect(answer.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
  });
  test.each(['"v7"', 'W/"v7"', '"v6", "v7"', '*', '"v6",,W/"v7"'])(
    'is 304 without content when If-None-Match is %s, by GET and HEAD',
    async (header) => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await call('/things', { method, headers: { 'if-none-match': header, 'x-request-id': 'r1' } });
        expect([answer.status, await answer.text()]).toEqual([304, '']);
        const { headers } = answer;
        expect([headers.get('etag'), headers.get('x-request-id')]).toEqual(['"v7"', 'r1']);
        expect([headers.get('cache-control'), headers.get('x-ratelimit-limit')]).toEqual(['private, no-cache', '10']);
        expect(headers.get('content-type')).toBeNull();
      }
    },
  );
  test.each(['"v6"', 'v7', '"v7', '', '"V7"'])('is answered whole when If-None-Match is %j', async (header) => {
    expect((await call('/things', { headers: { 'if-none-match': header } })).status).toBe(200);
  });
  test('answers HEAD with the length of the content it leaves out', async () => {
    const answer = await call('/things', { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '13', '']);
  });
});

describe('a change with If-Match', () => {
  test.each(['"v7"', '*', '"v1", "v7"', '\t"v1" , ,"v7" '])(
    'of %s is made, and the answer carries the new tag',
    async (header) => {
      const answer = await call('/things', { method: 'PUT', headers: { 'if-match': header } });
      expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"v8"']);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    },
  );
  test.each(['"v6"', 'W/"v7"', '"v1", W/"v7"'])('of %s is 412, naming the current tag', async (header) => {
    const answer = await call('/things', { method: 'PUT', headers: { 'if-match': header } });
    expect(answer.status).toBe(412);
    expect(await answer.json()).toMatchObject({ code: 'precondition_failed', current_etag: '"v7"' });
  });
  test('of * on what does not exist is 412', async () => {
    const answer = await call('/nothing', { method: 'PUT', headers: { 'if-match': '*' } });
    expect(await answer.json()).toMatchObject({ status: 412, code: 'precondition_failed', current_etag: null });
  });
  test.each(['v7', '"v7', '', '"a""b"'])('of %j is 400 invalid_header', async (header) => {
    const answer = await call('/things', { method: 'PUT', headers: { 'if-match': header } });
    expect(await answer.json()).toMatchObject({ status: 400, code: 'invalid_header' });
  });
  test.each(['PUT', 'PATCH', 'DELETE'])('of a tag by %s is 412 where nothing has a tag', async (method) => {
    const answer = await call('/untagged', { method, headers: { 'if-match': '"v7"' } });
    expect(await answer.json()).toMatchObject({ status: 412, code: 'precondition_failed', current_etag: null });
  });
  test.each([
    ['PUT', '*'],
    ['DELETE', '*'],
    ['POST', '"v7"'],
  ])('by %s of %s is made where nothing has a tag', async (method, header) => {
    expect((await call('/untagged', { method, headers: { 'if-match': header } })).status).toBe(200);
  });
  test('is not needed', async () => {
    expect((await call('/things', { method: 'PUT' })).status).toBe(200);
  });
});

describe('entity tags', () => {
  test('of the same content are the same, of other content others, and fit a header', () => {
    expect(contentEtag('a')).toBe(contentEtag(Buffer.from('a')));
    expect(contentEtag('a')).not.toBe(contentEtag('b'));
    expect(formatEtag(contentEtag('a'))).toMatch(/^"[\w-]{27}"$/);
  });
  test.each(['', 'a"b', 'a b', 'ä', 'a\r\nSet-Cookie: x'])('cannot be %j', (tag) => {
    expect(() => formatEtag(tag)).toThrow('cannot be an entity tag');
  });
  test.each([
    ['tags', `${'"a", '.repeat(3_000)}x`],
    ['blanks', `"a",${' '.repeat(300_000)}x`],
    ['blanks after a tag', `"a"${' '.repeat(300_000)}x`],
  ])('a long list of %s is read in linear time', (_what, header) => {
    expect(noneMatchHolds(header, 'a')).toBe(false);
    expect(() => parseIfMatch(header)).toThrow('If-Match must be');
  });
});

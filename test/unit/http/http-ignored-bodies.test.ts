import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { endpoint } from '../../../src/http/endpoint.ts';
import { serve } from '../../support/http-app.ts';

const common = { path: '/thing', summary: '', tag: '', access: { authenticated: true } } as const;
const responses = { 204: { description: '' } };
let app: Awaited<ReturnType<typeof serve>>;
let deletions = 0;
let authorized: Promise<void> = Promise.resolve();

beforeAll(async () => {
  const erase = endpoint({
    ...{ ...common, operationId: 'erase', method: 'DELETE', rateClass: 'write', responses },
    handle: async () => {
      deletions++;
      return { status: 204 };
    },
  });
  const read = endpoint({
    ...{ ...common, operationId: 'read', method: 'GET', rateClass: 'read', responses },
    handle: async () => ({ status: 204 }),
  });
  app = await serve([erase, read], { authorize: async () => authorized });
});
beforeEach(() => {
  deletions = 0;
});
afterAll(() => app.close());

test.each([
  ['whose chunks are malformed', 'Transfer-Encoding: chunked\r\n\r\nZZ'],
  ['that its client breaks off', 'Content-Length: 10\r\n\r\nhalf'],
])('a deletion with a body %s, which is authorized after that, has no effect', async (_what, rest) => {
  let authorize = () => {};
  authorized = new Promise((resolve) => {
    authorize = resolve;
  });
  const socket = connect(app.port, '127.0.0.1');
  socket.end(`DELETE /thing HTTP/1.1\r\nHost: x\r\n${rest}`);
  expect(String(Buffer.concat(await socket.toArray()))).toMatch(/^HTTP\/1\.1 400 /);
  authorize();
  expect((await fetch(`${app.url}/thing`)).status).toBe(204);
  expect(deletions).toBe(0);
});

test.each([
  ['that nobody needs is done', Buffer.alloc(1024 * 1024), 204, 1],
  ['that is too large is refused', Buffer.alloc(1024 * 1024 + 1), 413, 0],
])('a deletion with a body %s', async (_what, body, status, effects) => {
  expect((await fetch(`${app.url}/thing`, { method: 'DELETE', body })).status).toBe(status);
  expect(deletions).toBe(effects);
});

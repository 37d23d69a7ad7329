import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readJsonBody, receiveBody } from '../../../src/http/body.ts';
import { BodyIntake } from '../../../src/http/body-intake.ts';
import { rawEndpoint } from '../../../src/http/endpoint.ts';
import { readUnwanted } from '../../../src/http/unwanted-bodies.ts';
import { UnauthenticatedError } from '../../../src/lib/errors.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

const mebibyte = 1024 * 1024;
const intake = new BodyIntake();
const common = { method: 'POST', summary: '', tag: '', access: { open: true }, rateClass: 'none' } as const;
const responses = { 200: { description: '' } };

let app: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  const read = async (req: IncomingMessage) => {
    await readJsonBody(req, mebibyte, { hold: intake.open('a'), inTurn: (parse) => parse() });
  };
  const refuse = async () => {
    throw new UnauthenticatedError('credentials_required', 'nobody');
  };
  app = await serve(
    [
      rawEndpoint({ ...common, operationId: 'read', path: '/read', responses, handle: read }),
      rawEndpoint({ ...common, operationId: 'refuse', path: '/refuse', responses, handle: refuse }),
    ],
    { authorize: async () => undefined },
  );
});

afterAll(() => app.close());

/** Sends a request, then a second one on its connection, and returns both statuses and how long they took. */
async function sendTwo(path: string, headers: string, body: Buffer): Promise<{ statuses: string[]; ms: number }> {
  const beganAtMs = performance.now();
  const socket = connect(app.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  let hasEnded = false;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    hasEnded = true;
  });
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
  socket.write(body);
  socket.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
  await until('both answers', 15_000, () => hasEnded || statuses().length === 2);
  socket.destroy();
  return { statuses: statuses(), ms: performance.now() - beganAtMs };
}

const asJson = 'Content-Type: application/json';
const compressed = gzipSync(Buffer.alloc(4 * mebibyte), { level: 0 });
const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);

test.each<[string, string, string, Buffer, number]>([
  ['announces too much', '/read', 'Content-Length: 62914560', Buffer.alloc(60 * mebibyte), 413],
  ['is found to be too long', '/read', 'Transfer-Encoding: chunked', chunked(Buffer.alloc(60 * mebibyte)), 413],
  ['nothing reads', '/refuse', 'Content-Length: 62914560', Buffer.alloc(60 * mebibyte), 401],
])('a refused body of 60 MiB that %s is read slowly, and its connection takes the next request', async (...given) => {
  const [, path, headers, body, status] = given;
  const { statuses, ms } = await sendTwo(path, `${asJson}\r\n${headers}`, body);
  expect(statuses).toEqual([String(status), '404']);
  // 59 pauses of 16 ms.
  expect(ms).toBeGreaterThan(900);
});

test.each([
  ['announces too much', `Content-Length: ${compressed.length}`, compressed],
  ['is found to be too long', 'Transfer-Encoding: chunked', chunked(compressed)],
  ['inflates to too much', 'Transfer-Encoding: chunked', chunked(gzipSync(Buffer.alloc(64 * mebibyte)))],
])('the connection of a compressed body that %s takes the next request', async (_name, headers, body) => {
  const { statuses } = await sendTwo('/read', `${asJson}\r\nContent-Encoding: gzip\r\n${headers}`, body);
  expect(statuses).toEqual(['413', '404']);
});

test('refused bodies that are smaller than what is read without a pause are counted together', async () => {
  const chunks = Array.from({ length: 8 }, () => Buffer.alloc(60 * 1024));
  const beganAtMs = performance.now();
  for (let n = 0; n < 60; n++) {
    const req = Object.assign(Readable.from(chunks), { headers: {} });
    const ended = once(req, 'end');
    const refused = receiveBody(req as unknown as IncomingMessage, 10, intake.open('a'));
    await expect(refused).rejects.toMatchObject({ code: 'body_too_large' });
    await ended;
  }
  // 24 pauses of 16 ms.
  expect(performance.now() - beganAtMs).toBeGreaterThan(300);
});

test('the refused body of one client does not wait for those of another that sends very many', async () => {
  const bodyOf = (mebibytes: number) => Readable.from(Array.from({ length: mebibytes }, () => Buffer.alloc(mebibyte)));
  const ended: string[] = [];
  const all = [...Array.from({ length: 50 }, () => 'many'), 'one'].map(async (sharer) => {
    const body = bodyOf(4);
    readUnwanted(body, sharer);
    await once(body, 'end');
    ended.push(sharer);
  });
  await Promise.all(all);
  expect(ended.indexOf('one')).toBeLessThan(5);
});

test('bodies that are refused in the middle are read slowly, and leave no pauses for others to wait for', async () => {
  const body = chunked(Buffer.alloc(2.05 * mebibyte));
  const beganAtMs = performance.now();
  for (let n = 0; n < 30; n++) {
    const { statuses } = await sendTwo('/read', `${asJson}\r\nTransfer-Encoding: chunked`, body);
    expect(statuses).toEqual(['413', '404']);
  }
  // 30 pauses of 16 ms, of which a body that ends meanwhile may skip some.
  expect(performance.now() - beganAtMs).toBeGreaterThan(300);
  const { ms } = await sendTwo('/refuse', `Content-Length: ${3 * mebibyte}`, Buffer.alloc(3 * mebibyte));
  expect(ms).toBeLessThan(1_000);
});

test('a compressed body that announces too much is not asked for', async () => {
  const socket = connect(app.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  const headers = `${asJson}\r\nContent-Encoding: gzip\r\nContent-Length: ${compressed.length}\r\nExpect: 100-continue`;
  socket.write(`POST /read HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
  await until('the answer', 5_000, () => text.includes('HTTP/1.1 413'));
  expect(text).not.toContain('100 Continue');
  socket.destroy();
});

test('of very many refused bodies of one client, few wait, and further ones are not read', async () => {
  const body = Buffer.alloc(1.3 * mebibyte);
  const leaving = Array.from({ length: 700 }, async () => {
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * body.length}\r\n\r\n`);
    socket.write(body);
    await once(socket, 'data');
    socket.destroy();
  });
  await Promise.all(leaving);
  // 700 pauses would take 13 s.
  await until('a further one is read', 11_000, async () => {
    const { statuses } = await sendTwo('/refuse', `Content-Length: ${2 * mebibyte}`, Buffer.alloc(2 * mebibyte));
    return statuses.length === 2;
  });
});

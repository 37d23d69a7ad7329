import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import express from 'express';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../../src/http/endpoint.ts';
import { RequestLanes } from '../../../src/http/request-lanes.ts';
import { prepareAnswer, sendAnswer } from '../../../src/http/send-result.ts';
import { sharedThird } from '../../../src/lib/pace.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

test('a large answer counts until its client has it or has gone, and a small one never', async () => {
  const lanes = new RequestLanes();
  const read = { rateClass: 'read' } as const;
  const bytes = 12 * 1024 * 1024;
  const clients = [new AbortController(), new AbortController(), new AbortController()] as const;
  const { isWaitedFor } = await lanes.holdAnswer(read, { sharer: 'slow', waiter: clients[0], bytes: bytes });
  await lanes.holdAnswer(read, { sharer: 'slow', waiter: clients[1], bytes: bytes });
  expect(isWaitedFor()).toBe(false);
  let third = false;
  const waiting = lanes.holdAnswer(read, { sharer: 'slow', waiter: clients[2], bytes: bytes }).then(() => {
    third = true;
  });
  await lanes.holdAnswer(read, { sharer: 'slow', waiter: new AbortController(), bytes: 1_000 });
  await lanes.holdAnswer(read, { sharer: 'other', waiter: new AbortController(), bytes: bytes });
  // It waits for its own share, so nobody must hurry for it.
  expect([third, isWaitedFor()]).toEqual([false, false]);
  clients[0].abort();
  await waiting;
  expect(third).toBe(true);
});

test('slow clients must hurry while there is no room for others, and not any more when there is', async () => {
  const lanes = new RequestLanes();
  const hold = (sharer: string, waiter = new AbortController()) =>
    lanes.holdAnswer({ rateClass: 'read' }, { sharer, waiter, bytes: 32 * 1024 * 1024 });
  const leaving = new AbortController();
  const { isWaitedFor } = await hold('slow', leaving);
  for (let other = 1; other < 6; other++) await hold(`slow ${other}`);
  expect(isWaitedFor()).toBe(false);
  const waiting = hold('other');
  expect(isWaitedFor()).toBe(true);
  leaving.abort();
  await waiting;
  expect(isWaitedFor()).toBe(false);
});

test('the answer to a write is not refused, but counts, and the next write waits until it is read', async () => {
  const lanes = new RequestLanes();
  const write = { rateClass: 'write' } as const;
  const clients = [new AbortController(), new AbortController()] as const;
  const hold = (waiter: AbortController) =>
    lanes.holdAnswer(write, { sharer: 'slow', waiter, bytes: 20 * 1024 * 1024 });
  await hold(clients[0]);
  lanes.requireAnswersRead(write, 'slow');
  await hold(clients[1]);
  expect(() => lanes.requireAnswersRead(write, 'slow')).toThrow(expect.objectContaining({ code: 'workspace_busy' }));
  lanes.requireAnswersRead({ rateClass: 'ingest' }, 'slow');
  lanes.requireAnswersRead(write, 'other');
  // Reads have room of their own.
  await lanes.holdAnswer(
    { rateClass: 'read' },
    { sharer: 'slow', waiter: new AbortController(), bytes: 30 * 1024 * 1024 },
  );
  clients[0].abort();
  lanes.requireAnswersRead(write, 'slow');
});

test('answers that are too small to be held count while they are unread, and refuse the next request of any kind but spans', () => {
  const lanes = new RequestLanes();
  const leave = Array.from({ length: 33 }, () => lanes.noteUnread('slow', 1024 * 1024));
  for (const rateClass of ['read', 'render', 'analytics', 'write'] as const) {
    expect(() => lanes.requireAnswersRead({ rateClass }, 'slow')).toThrow(
      expect.objectContaining({ code: 'workspace_busy' }),
    );
    lanes.requireAnswersRead({ rateClass }, 'other');
  }
  lanes.requireAnswersRead({ rateClass: 'ingest' }, 'slow');
  lanes.requireAnswersRead({ rateClass: 'none' }, 'slow');
  for (const each of leave.slice(0, 2)) each();
  lanes.requireAnswersRead({ rateClass: 'read' }, 'slow');
});

test('answers to writes make slow clients hurry while those of all workspaces are very many', async () => {
  const lanes = new RequestLanes();
  const hold = (sharer: string, waiter = new AbortController()) =>
    lanes.holdAnswer({ rateClass: 'write' }, { sharer, waiter, bytes: 32 * 1024 * 1024 });
  const leaving = new AbortController();
  const { isWaitedFor } = await hold('slow', leaving);
  for (let other = 1; other < 6; other++) await hold(`slow ${other}`);
  expect(isWaitedFor()).toBe(false);
  await hold('other');
  expect(isWaitedFor()).toBe(true);
  lanes.requireAnswersRead({ rateClass: 'write' }, 'one more');
  leaving.abort();
  expect(isWaitedFor()).toBe(false);
});

test('clients that do not read large answers hold few, of any kind, and a write is still answered', async () => {
  let handled = 0;
  const large = (method: 'GET' | 'POST', rateClass: 'read' | 'write') =>
    endpoint({
      ...{ method, operationId: `large_${rateClass}`, path: '/large', summary: '', tag: '', rateClass },
      access: { authenticated: true },
      responses: { 200: { description: '', schema: z.strictObject({ text: z.string() }) } },
      handle: async () => {
        handled++;
        return { status: 200, body: { text: 'x'.repeat(17 * 1024 * 1024) } };
      },
    });
  const app = await serve([large('GET', 'read'), large('POST', 'write')], { authorize: async () => undefined });
  const sockets = await Promise.all(
    Array.from({ length: 7 }, async () => {
      const socket = connect(app.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
      return socket.pause();
    }),
  );
  try {
    // One is being sent, and six wait.
    await until('all are handled', 10_000, () => handled === 7);
    const refused = await fetch(`${app.url}/large`);
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'workspace_busy' }]);
    const written = await fetch(`${app.url}/large`, { method: 'POST' });
    expect([written.status, (await written.text()).length > 17_000_000]).toEqual([200, true]);
    for (const socket of sockets) socket.destroy();
    await until('others are answered', 10_000, async () => (await fetch(`${app.url}/large`)).status === 200);
  } finally {
    for (const socket of sockets) socket.destroy();
    await app.close();
  }
});

test('large answers that no rate limits share a third of the event loop', async () => {
  const content = new Uint8Array(4 * 1024 * 1024);
  const description = endpoint({
    ...{ method: 'GET', operationId: 'large', path: '/large', summary: '', tag: '', rateClass: 'none' },
    access: { open: true },
    responses: { 200: { description: '', contentType: 'text/plain', example: '' } },
    handle: async () => ({ status: 200, contentType: 'text/plain', content }),
  });
  const app = await serve([description], { authorize: async () => undefined });
  const tookMs = async () => {
    const beganAtMs = performance.now();
    expect((await (await fetch(`${app.url}/large`)).arrayBuffer()).byteLength).toBe(content.length);
    return performance.now() - beganAtMs;
  };
  try {
    await tookMs();
    // Two of sixteen slices each, with at least six milliseconds after each.
    expect(Math.min(...(await Promise.all([tookMs(), tookMs()])))).toBeGreaterThan(150);
  } finally {
    await app.close();
  }
});

test('large work of a workspace waits for one slice of such answers, however many addresses read them', async () => {
  const lanes = new RequestLanes();
  const open = { rateClass: 'none' } as const;
  const order: string[] = [];
  const slices = Array.from({ length: 12 }, async (_, index) => {
    const held = await lanes.holdAnswer(open, {
      sharer: `address ${index}`,
      waiter: new AbortController(),
      bytes: 1e6,
    });
    await held.rest?.();
    order.push('open');
  });
  await new Promise((resolve) => setImmediate(resolve));
  await sharedThird('workspace')();
  expect(order.length).toBeLessThanOrEqual(1);
  await Promise.all(slices);
  expect(order.length).toBe(12);
});

test('sending such an answer ends at once when its client leaves within a pause', async () => {
  const beganAtMs = performance.now();
  let sent: Promise<void> | undefined;
  const app = express().get('/', (req, res) => {
    const answer = prepareAnswer({ status: 200, contentType: 'text/plain', content: new Uint8Array(1024 * 1024) });
    const rest = async () => {
      res.destroy();
      await once(res, 'close');
    };
    sent = sendAnswer(req, res, answer, {
      hold: async () => ({ isWaitedFor: () => false, rest }),
      note: () => () => undefined,
    });
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    await sent;
    // It would wait ten seconds for a client that does not read.
    expect(performance.now() - beganAtMs).toBeLessThan(5_000);
  } finally {
    server.close();
  }
});

test('while a client does not read a large answer, the values that it was made of are not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const bodies: WeakRef<object>[] = [];
  const list = endpoint({
    ...{ method: 'GET', operationId: 'large', path: '/large', summary: '', tag: '', rateClass: 'read' },
    access: { authenticated: true },
    responses: { 200: { description: '', schema: z.strictObject({ text: z.string() }) } },
    handle: async () => {
      const body = { text: 'x'.repeat(20 * 1024 * 1024) };
      bodies.push(new WeakRef(body));
      return { status: 200, body };
    },
  });
  const app = await serve([list], { authorize: async () => undefined });
  const socket = connect(app.port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.pause();
    await until('the values are collected', 10_000, () => {
      collectGarbage();
      return bodies.length === 1 && bodies[0]?.deref() === undefined;
    });
    expect(socket.destroyed).toBe(false);
  } finally {
    socket.destroy();
    await app.close();
  }
});

test.each([
  ['of 262,144 letters is not large', 'x'.repeat(262_144), false],
  ['of 262,145 letters is large', 'x'.repeat(262_145), true],
  ['of 100,000 characters with three bytes each is large', '文'.repeat(100_000), true],
  ['of 60,000 characters with three bytes each is not large', '文'.repeat(60_000), false],
])('a text %s', (_what, content, isLarge) => {
  expect(prepareAnswer({ status: 200, contentType: 'text/plain', content }).isLarge).toBe(isLarge);
});

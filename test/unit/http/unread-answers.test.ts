import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import express, { type Request, type Response } from 'express';
import { afterEach, expect, test, vi } from 'vitest';
import { answerError } from '../../../src/http/error-handler.ts';
import { contextOf, startRequest } from '../../../src/http/request-context.ts';
import { prepareAnswer, sendAnswer } from '../../../src/http/send-result.ts';
import { InvalidError } from '../../../src/lib/errors.ts';
import { createLatencyRecorder } from '../../../src/telemetry/latency.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { keptLog } from '../../support/http-app.ts';

const logger = createLogger({ level: 'error', name: 'test', destination: keptLog().destination });

afterEach(() => {
  vi.useRealTimers();
});

let unread = 0;
function note(bytes: number): () => void {
  unread += bytes;
  return () => {
    unread -= bytes;
  };
}

type Send = (req: Request, res: Response) => Promise<void>;

/** Returns a function that sends an answer of so many bytes. */
const answerOf =
  (bytes: number): Send =>
  (req, res) => {
    const answer = prepareAnswer({ status: 200, contentType: 'text/plain', content: new Uint8Array(bytes) });
    return sendAnswer(req, res, answer, { hold: async () => ({ isWaitedFor: () => false }), note });
  };

/** Returns a function that sends a problem with so many faults of 500 bytes. */
const problemOf =
  (faults: number): Send =>
  async (req, res) => {
    contextOf(res).sharer = 'wsp_test';
    const errors = Array.from({ length: faults }, () => ({ path: 'p'.repeat(450), code: 'c', message: 'm' }));
    const noteUnread = (sharer: string, bytes: number) => note(sharer === 'wsp_test' ? bytes : 0);
    answerError(new InvalidError('invalid_body', 'x', { errors }), { req, res }, { logger, lanes: { noteUnread } });
  };

/** Sends an answer behind what its client does not read. Returns the number of timers then. */
async function sendUnread(send: Send) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const observers = { logger, metrics: createMetrics(), latency: createLatencyRecorder() };
  const app = express().use(startRequest(observers));
  app.get('/', async (req, res) => {
    req.socket.write(Buffer.alloc(32 * 1024 * 1024));
    await send(req, res);
    server.emit('sent', res, vi.getTimerCount());
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined); // It may be cut off.
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [res, timers] = await once(server, 'sent');
  const end = () => {
    socket.destroy();
    server.close();
  };
  return { res, timers, socket, end };
}

test('a client that has not read a whole answer of more than 16 KiB after 30 s is disconnected', async () => {
  const { res, timers, end } = await sendUnread(answerOf(16 * 1024 + 1));
  expect(timers).toBe(1);
  vi.advanceTimersByTime(29_999);
  expect(res.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(res.destroyed).toBe(true);
  await once(res, 'close');
  expect(unread).toBe(0);
  end();
});

test('an answer counts until its client has read it, and then its limit ends', async () => {
  const { res, socket, end } = await sendUnread(answerOf(200 * 1024));
  expect(unread).toBe(200 * 1024);
  socket.resume();
  await once(res, 'close');
  expect([vi.getTimerCount(), unread]).toEqual([0, 0]);
  end();
});

test('a smaller answer has no timer, and does not count', async () => {
  const { timers, end } = await sendUnread(answerOf(16 * 1024));
  expect([timers, unread]).toEqual([0, 0]);
  end();
});

test('a client that has not read a problem of more than 16 KiB after 30 s is disconnected, and it counts until then', async () => {
  const { res, timers, end } = await sendUnread(problemOf(100));
  expect(timers).toBe(1);
  expect(unread).toBeGreaterThan(40 * 1024);
  vi.advanceTimersByTime(30_000);
  expect(res.destroyed).toBe(true);
  await once(res, 'close');
  expect(unread).toBe(0);
  end();
});

test('a problem of a few faults has no timer, and does not count', async () => {
  const { timers, end } = await sendUnread(problemOf(20));
  expect([timers, unread]).toEqual([0, 0]);
  end();
});

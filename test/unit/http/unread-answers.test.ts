import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import { afterEach, expect, test, vi } from 'vitest';
import { prepareAnswer, sendAnswer } from '../../../src/http/send-result.ts';

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

/** Sends an answer of so many bytes behind what its client does not read. Returns the number of timers then. */
async function sendUnread(bytes: number) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const content = new Uint8Array(bytes);
  const app = express().get('/', async (req, res) => {
    req.socket.write(Buffer.alloc(32 * 1024 * 1024));
    const answer = prepareAnswer({ status: 200, contentType: 'text/plain', content });
    await sendAnswer(req, res, answer, { hold: async () => ({ isWaitedFor: () => false }), note });
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
  const { res, timers, end } = await sendUnread(16 * 1024 + 1);
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
  const { res, socket, end } = await sendUnread(200 * 1024);
  expect(unread).toBe(200 * 1024);
  socket.resume();
  await once(res, 'close');
  expect([vi.getTimerCount(), unread]).toEqual([0, 0]);
  end();
});

test('a smaller answer has no timer, and does not count', async () => {
  const { timers, end } = await sendUnread(16 * 1024);
  expect([timers, unread]).toEqual([0, 0]);
  end();
});

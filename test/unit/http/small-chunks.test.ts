import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import express from 'express';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../src/http/server.ts';
import { isPausing } from '../../../src/http/small-chunks.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { until } from '../../support/until.ts';

const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n';
const end = '0\r\n\r\n';
const chunked = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`;

/** Serves an application that answers with the body, and with how many pieces it had. */
async function start() {
  const app = express();
  app.post('/', async (req, res) => {
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece);
    res.json({ body: Buffer.concat(pieces).toString('latin1'), pieces: pieces.length });
  });
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close(0));
  return server;
}

async function send(port: number, packets: readonly string[]): Promise<{ body: string; pieces: number }> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  for (const packet of packets) if (!socket.write(packet)) await once(socket, 'drain');
  await once(socket, 'end');
  socket.destroy();
  return JSON.parse(answer.slice(answer.indexOf('{')));
}

test('a body in chunks of one byte comes in few pieces', async () => {
  const { port } = await start();
  const bytes = 'abcdefghijklmnopqrstuvwxyz'.repeat(8_000);
  const answer = await send(port, [head, [...bytes].map(chunked).join('') + end]);
  expect(answer.body).toBe(bytes);
  // One for each slice of 1 KiB, which has 170 chunks.
  expect(answer.pieces).toBeLessThan(bytes.length / 150);
});

test('a larger chunk after each thousand of one byte does not let more be read in a turn of the event loop', async () => {
  const app = express();
  let [mostBytes, bytes, total] = [0, 0, 0];
  app.post('/', async (req, res) => {
    req.on('data', (piece: Buffer) => {
      if (bytes === 0) {
        setImmediate(() => {
          mostBytes = Math.max(mostBytes, bytes);
          bytes = 0;
        });
      }
      bytes += piece.length;
      total += piece.length;
    });
    await once(req, 'end');
    setImmediate(() => res.json({ body: '', pieces: 0 }));
  });
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close(0));
  const thousand = chunked('a').repeat(999) + chunked('b'.repeat(1_024));
  await send(server.port, [head + thousand.repeat(300) + end]);
  expect(total).toBe(300 * 2_023);
  // A read of the socket has up to 64 KiB, of which 17,000 are bytes of the body.
  expect(mostBytes).toBeLessThan(40_000);
});

/** Serves an application that resolves with its first request and leaves the body alone. */
async function startUnread() {
  const app = express();
  const request = new Promise<IncomingMessage>((resolve) => void app.post('/', (req) => resolve(req)));
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close(0));
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  return { request, socket };
}

test('a body of very many small chunks that ends in the same read is followed by a pause as well', async () => {
  const { request, socket } = await startUnread();
  socket.write(head + chunked('a').repeat(5_000) + end);
  const req = await request;
  await until('it pauses', 5_000, () => isPausing(req));
  let ended = false;
  req.on('end', () => {
    ended = true;
  });
  const body = req.toArray();
  expect(ended).toBe(false);
  expect(Buffer.concat(await body).toString()).toBe('a'.repeat(5_000));
  expect(isPausing(req)).toBe(false);
});

test('a body that is not read stops its client, however small its chunks and however slowly they come', async () => {
  const { request, socket } = await startUnread();
  socket.setNoDelay().write(head);
  const req = await request;
  const packet = chunked('a'.repeat(1_000)).repeat(10);
  // What the sockets of both sides take is not held by the process.
  for (let sent = 0; sent < 3_000 && socket.writableLength < 100_000; sent++) {
    socket.write(packet);
    await oneTurn();
  }
  expect(req.readableLength).toBeGreaterThan(0);
  expect(req.readableLength).toBeLessThan(200_000);
});

test('the pause of a client that leaves is over', async () => {
  const { request, socket } = await startUnread();
  socket.write(head + chunked('a').repeat(9_000));
  const req = await request;
  await until('it pauses', 5_000, () => isPausing(req));
  socket.destroy();
  await until('it does not pause', 5_000, () => !isPausing(req));
});

test('a chunk that is followed by nothing for a while is passed on', async () => {
  const app = express();
  const first = new Promise<string>((resolve) => {
    app.post('/', (req) => void req.once('data', (data) => resolve(String(data))));
  });
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close(0));
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(head + chunked('a'));
  expect(await first).toBe('a');
});

test('chunks of any sizes in any packets arrive in their order', async () => {
  const { port } = await start();
  const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3_000 }));
  const packets = fc.array(fc.array(size, { minLength: 1, maxLength: 40 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(packets, async (sizes) => {
      let sent = 0;
      const bodies = sizes.map((each) => each.map((length) => String.fromCharCode(97 + (sent++ % 26)).repeat(length)));
      const texts = bodies.map((each) => each.map(chunked).join(''));
      const { body } = await send(port, [head, ...texts, end]);
      expect(body).toBe(bodies.flat().join(''));
    }),
    { numRuns: 50 },
  );
});

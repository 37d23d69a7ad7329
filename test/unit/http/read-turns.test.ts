import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../src/http/server.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import { seededRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';

const greeting = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const postHead = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunked = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`;
const end = '0\r\n\r\n';

const largeBytes = 4 * 1024 * 1024;

/** Serves an application that answers with the length and the sum of a body. */
async function start(): Promise<number> {
  const app = express();
  app.get('/', (_req, res) => void res.end('ok'));
  app.get('/large', (_req, res) => void res.end(Buffer.alloc(largeBytes, 'x')));
  app.post('/', async (req, res) => {
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece);
    res.json({ body: Buffer.concat(pieces).toString('latin1') });
  });
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close(0));
  return server.port;
}

/** Opens connections that had a request before, so that Node reads them itself. */
function openAll(port: number, count: number): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined); // It may be cut off.
      onTestFinished(() => void socket.destroy());
      socket.write(greeting);
      await once(socket, 'data');
      return socket;
    }),
  );
}

test('four hundred connections that send chunks of one byte at once delay nobody for long', {
  timeout: 30_000,
}, async () => {
  const port = await start();
  const sockets = await openAll(port, 400);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: '127.0.0.2' });
  onTestFinished(() => agent.destroy());
  const ask = async () => {
    const [response] = await once(get({ port, agent }), 'response');
    await once(response.resume(), 'end');
  };
  await ask();
  const loop = watchLoop();
  for (const socket of sockets) socket.write(postHead + '1\r\nx\r\n'.repeat(10_900));
  const startedAtMs = performance.now();
  for (let times = 0; times < 10; times++) await ask();
  expect(performance.now() - startedAtMs).toBeLessThan(3_000);
  expect(loop.stop()).toBeLessThan(1_000);
});

test('connections that are read in slices lose nothing: bodies of chunks of any size, and requests that follow', {
  timeout: 30_000,
}, async () => {
  const port = await start();
  const sockets = await openAll(port, 12);
  const random = seededRandom();
  const bodyOf = (index: number) => {
    const sizes = index % 3 === 0 ? [1] : [1, 40, 3_000, 90_000];
    let chunks = '';
    let bytes = '';
    while (chunks.length < (index % 3 === 0 ? 30_000 : 200_000)) {
      const size = sizes[Math.floor(random() * sizes.length)] ?? 1;
      const chunk = String.fromCodePoint(97 + Math.floor(random() * 26)).repeat(size);
      chunks += chunked(chunk);
      bytes += chunk;
    }
    return { bytes, sent: postHead + chunks + end };
  };
  const answers = await Promise.all(
    sockets.map(async (socket, index) => {
      const bodies = [bodyOf(index), bodyOf(index + 1)];
      let text = '';
      socket.on('data', (data) => {
        text += data;
      });
      socket.write(bodies.map(({ sent }) => sent).join(''));
      const answered = () => [...text.matchAll(/"body":"([a-z]*)"/g)].map(([, body]) => body);
      await until('both requests are answered', 20_000, () => answered().length === 2);
      return answered().join() === bodies.map(({ bytes }) => bytes).join();
    }),
  );
  expect(answers).toEqual(sockets.map(() => true));
});

test('a connection whose responses are not read for a while gets all of them, while others cost much again and again', {
  timeout: 30_000,
}, async () => {
  const port = await start();
  const [late, ...others] = await openAll(port, 13);
  if (late === undefined) throw new Error('There is no connection');
  const costly = postHead + '1\r\nx\r\n'.repeat(6_000) + end;
  let received = 0;
  late.on('data', (data) => {
    received += data.length;
  });
  late.pause();
  const requests = 8;
  for (let round = 0; round < requests; round++) {
    for (const socket of others) {
      socket.resume();
      socket.write(costly);
    }
    late.write(round % 2 === 0 ? 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n' : postHead + chunked('y') + end);
    for (let turns = 0; turns < 30; turns++) await oneTurn();
    if (round % 3 === 2) late.resume();
    else late.pause();
  }
  late.resume();
  await until('all is received', 20_000, () => received > (requests / 2) * largeBytes);
});

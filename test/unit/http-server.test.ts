import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { listen, type RunningServer } from '../../src/http/server.ts';

const started: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close(0)));
});
async function start(app: Parameters<typeof listen>[0]['app']) {
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  started.push(server);
  return server;
}
/** A promise and the function that settles it. */
function latch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('listen', () => {
  test('on a taken port is one clear error', async () => {
    const first = await start((_req, res) => res.end());
    await expect(listen({ app: () => {}, port: first.port, host: '127.0.0.1' })).rejects.toThrow(
      `Port ${first.port} on 127.0.0.1 is taken by another process`,
    );
  });
});

test('five hundred connections that never end their request hold up nobody else', async () => {
  const server = await start((_req, res) => res.end('ok'));
  const slow = await Promise.all(
    Array.from({ length: 500 }, async () => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined); // They are cut off at the end.
      await once(socket, 'connect');
      socket.write('GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: ');
      return socket;
    }),
  );
  const startedAtMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${server.port}/`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  for (const socket of slow) socket.destroy();
});

describe('draining', () => {
  test('lets a running request finish, tells its connection to close and refuses new connections', async () => {
    const [arrived, release] = [latch(), latch()];
    const server = await start(async (_req, res) => {
      arrived.open();
      await release.opened;
      res.end('finished');
    });
    const agent = new Agent({ keepAlive: true });
    const answered = new Promise<IncomingMessage>((resolve) => get({ port: server.port, agent }, resolve));
    await arrived.opened;
    const closed = server.close(10_000);
    const refused = connect(server.port, '127.0.0.1');
    await expect(once(refused, 'connect')).rejects.toThrow('ECONNREFUSED');
    release.open();
    const response = await answered;
    expect(response.headers.connection).toBe('close');
    expect(String(await response.toArray())).toBe('finished');
    await closed;
    agent.destroy();
  });

  test('closes idle keep-alive connections at once', async () => {
    const server = await start((_req, res) => res.end('ok'));
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const ended = once(socket, 'close');
    await server.close(60_000);
    await ended;
  });

  test('cuts off what does not finish within its time', async () => {
    const arrived = latch();
    const server = await start(() => arrived.open());
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await arrived.opened;
    const ended = once(socket, 'close');
    await server.close(50);
    await ended;
  });
});

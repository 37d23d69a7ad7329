import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { sendWebhook } from '../../../src/domains/webhooks/send-webhook.ts';

const receivers: { server: Server; sockets: Socket[] }[] = [];
const uncaught: unknown[] = [];
const note = (error: unknown) => uncaught.push(error);
afterEach(() => {
  process.off('uncaughtExceptionMonitor', note);
  uncaught.length = 0;
  for (const { server, sockets } of receivers.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

const continues = 'HTTP/1.1 100 Continue\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
const success = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Returns the URL of a receiver, and a promise that resolves when its first connection is closed. */
async function receive(answer: (socket: Socket) => unknown) {
  const server = createServer();
  const sockets: Socket[] = [];
  receivers.push({ server, sockets });
  const closed = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined).once('data', () => answer(socket));
      socket.once('close', () => resolve());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, closed };
}

/** The time limit is long, so that it does not close the connection. */
const send = (url: string) =>
  sendWebhook(
    { policy: { allowPrivate: true, proxyUrl: undefined }, resolve: async () => ['127.0.0.1'], timeoutMs: 600_000 },
    { url, headers: {}, body: '{}' },
  );

const tooMany = { status: null, error: 'The receiver sent more than 10 informational responses' };
const changed = { status: null, error: 'The receiver changed the protocol' };

describe('a receiver', () => {
  test('that changes the protocol is a failure, and its connection is closed', async () => {
    const { url, closed } = await receive((socket) => socket.write(switching));
    expect(await send(url)).toMatchObject(changed);
    await closed;
  });

  test('that changes the protocol and resets the connection leaves the process alive', async () => {
    process.on('uncaughtExceptionMonitor', note);
    let answered: Socket | undefined;
    const { url, closed } = await receive((socket) => {
      answered = socket;
      socket.write(switching);
    });
    expect(await send(url)).toMatchObject(changed);
    answered?.resetAndDestroy();
    await closed;
    // The reset arrives before the response to a later request.
    expect(await send((await receive((socket) => socket.write(success))).url)).toMatchObject({ status: 200 });
    expect(uncaught).toEqual([]);
  });

  test('that sends 100 without end is a failure, and its connection is closed', async () => {
    const { url, closed } = await receive((socket) => {
      const write = () => {
        while (!socket.destroyed && socket.write(continues.repeat(1_000)));
        socket.once('drain', write);
      };
      write();
    });
    expect(await send(url)).toMatchObject(tooMany);
    await closed;
  });

  test.each([
    ['200', success],
    ['101', switching],
  ])('that sends eleven times 100 and then %s at once is a failure and leaves the process alive', async (_, last) => {
    process.on('uncaughtExceptionMonitor', note);
    const { url, closed } = await receive((socket) => socket.write(continues.repeat(11) + last));
    expect(await send(url)).toMatchObject(tooMany);
    await closed;
    expect(uncaught).toEqual([]);
  });

  test.each([
    ['103 twice', hints.repeat(2)],
    ['100 ten times', continues.repeat(10)],
  ])('that sends %s and then 200 is a success', async (_, informational) => {
    const { url } = await receive((socket) => socket.write(informational + success));
    expect(await send(url)).toEqual({ status: 200, body: 'ok', error: null, retryAfterMs: null });
  });
});

import { once } from 'node:events';
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { refuseTunnel } from '../../../src/http/connection-errors.ts';
import { listen, type RunningServer } from '../../../src/http/server.ts';
import { until } from '../../support/until.ts';

const started: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close(0)));
});

describe('a tunnel that is requested', () => {
  const head = (method: string, target: string) => `${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;

  /** A server that answers with `answer`; requests a tunnel on a connection whose first request is in progress. */
  async function tunnelAfter(answer: (res: ServerResponse) => void) {
    const held: ServerResponse[] = [];
    const app: RequestListener = (_req, res) => {
      held.push(res);
      answer(res);
    };
    const server = await listen({ app, port: 0, host: '127.0.0.1' });
    started.push(server);
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined); // It may be cut off.
    socket.write(head('DELETE', '/'));
    const res = await until('the request is under way', 5_000, () => held[0]);
    socket.write(head('CONNECT', 'x:1'));
    return { server, socket, res };
  }

  test('while a request is in progress is not answered; that request is, and the connection closed', async () => {
    const { socket, res } = await tunnelAfter(() => undefined);
    await until('the tunnel is refused', 5_000, () => res.hasHeader('Connection'));
    res.end('deleted');
    const text = String(Buffer.concat(await socket.toArray()));
    expect(text).toMatch(/^HTTP\/1.1 200 OK.*deleted$/s);
    expect(text).toMatch(/^connection: close/im);
  });

  test('behind an answer that its client does not read closes the connection', async () => {
    const { res } = await tunnelAfter((answer) => void answer.end(Buffer.alloc(32 * 1024 * 1024)));
    await once(res, 'close', { signal: AbortSignal.timeout(5_000) });
  });

  test('while a request is in progress does not keep the server from closing', async () => {
    const { server, socket, res } = await tunnelAfter(() => undefined);
    await until('the tunnel is refused', 5_000, () => res.hasHeader('Connection'));
    const ended = once(socket.resume(), 'close');
    await server.close(50);
    await ended;
  });

  test.each([
    ['nothing of its refusal', undefined],
    ['nothing while a request is in progress', new ServerResponse(new IncomingMessage(new Socket()))],
  ])('by a client that reads %s is closed when the time for it is over', async (_what, current) => {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect(port, '127.0.0.1');
    const [socket] = await once(server, 'connection');
    socket.write(Buffer.alloc(32 * 1024 * 1024));
    refuseTunnel(socket, current);
    expect(socket.destroyed).toBe(false);
    socket.emit('timeout');
    expect(socket.destroyed).toBe(true);
    client.destroy();
    server.close();
  });
});

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A request of a route. Each way to disconnect sends a part of it. */
export interface RawRequest {
  method: string;
  path: string;
  headers: readonly string[];
  body: Buffer;
}

/** Sends a part of the request and disconnects. Resolves when the connection is closed. */
export type Leave = (port: number, request: RawRequest) => Promise<void>;

const timeoutMs = 20_000;
const megabyte = 1024 * 1024;

function headOf({ method, path, headers }: RawRequest, ...more: readonly string[]): string {
  return [`${method} ${path} HTTP/1.1`, 'Host: leaving', ...headers, ...more, '', ''].join('\r\n');
}

const lengthOf = (bytes: number) => `Content-Length: ${bytes}`;

/** Opens a connection that one side must close in time. */
async function within(
  port: number,
  act: (socket: Socket) => Promise<unknown> | unknown,
  allowHalfOpen = false,
): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
  socket.on('error', () => undefined); // The server may reset the connection.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  try {
    await Promise.race([once(socket, 'connect'), closed]);
    await Promise.race([act(socket), closed]);
  } finally {
    const cutOff = setTimeout(() => socket.destroy(), timeoutMs).unref();
    await closed;
    clearTimeout(cutOff);
  }
}

/** Writes, and waits until the data is sent. */
const send = (socket: Socket, bytes: string | Buffer) =>
  new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
const firstBytes = (socket: Socket) => once(socket, 'data');

/** The ways in which a client can disconnect or fail. */
export const waysToLeave: Readonly<Record<string, Leave>> = {
  'before a byte': (port) => within(port, (socket) => socket.destroy()),
  'within the request line': (port, { method }) =>
    within(port, async (socket) => {
      await send(socket, `${method} /api`);
      socket.destroy();
    }),
  'within the headers': (port, request) =>
    within(port, async (socket) => {
      await send(socket, headOf(request, lengthOf(10)).slice(0, -4));
      socket.destroy();
    }),
  'after the headers': (port, request) =>
    within(port, async (socket) => {
      await send(socket, headOf(request, lengthOf(request.body.length + 10)));
      socket.destroy();
    }),
  'within the body': (port, request) =>
    within(port, async (socket) => {
      await send(socket, headOf(request, lengthOf(request.body.length + 10)));
      await send(socket, request.body);
      socket.destroy();
    }),
  'within a chunk of the body': (port, request) =>
    within(port, async (socket) => {
      await send(socket, `${headOf(request, 'Transfer-Encoding: chunked')}ffff\r\n{"`);
      socket.destroy();
    }),
  'after the body, before the answer': (port, request) =>
    within(port, async (socket) => {
      await send(socket, headOf(request, lengthOf(request.body.length)));
      await send(socket, request.body);
      socket.destroy();
    }),
  'with a reset after the body': (port, request) =>
    within(port, async (socket) => {
      await send(socket, Buffer.concat([Buffer.from(headOf(request, lengthOf(request.body.length))), request.body]));
      socket.resetAndDestroy();
    }),
  'within the answer': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      await send(socket, Buffer.concat([Buffer.from(headOf(request, lengthOf(request.body.length))), request.body]));
      await answered;
      socket.resetAndDestroy();
    }),
  'half-closed within the body': (port, request) =>
    within(port, async (socket) => {
      await send(socket, headOf(request, lengthOf(request.body.length + 10)));
      socket.resume();
      socket.end();
      await once(socket, 'end');
      socket.destroy();
    }),
  'half-closed before the answer': (port, request) =>
    within(
      port,
      async (socket) => {
        socket.resume();
        socket.end(Buffer.concat([Buffer.from(headOf(request, lengthOf(request.body.length))), request.body]));
        await once(socket, 'end');
        socket.destroy();
      },
      true,
    ),
  'with five pipelined requests, reading none': (port, request) =>
    within(port, async (socket) => {
      const one = Buffer.concat([Buffer.from(headOf(request, lengthOf(request.body.length))), request.body]);
      await send(socket, Buffer.concat([one, one, one, one, one]));
      socket.resetAndDestroy();
    }),
  'with a body longer than it said': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      await send(socket, Buffer.concat([Buffer.from(headOf(request, lengthOf(1))), request.body, Buffer.alloc(1_000)]));
      await answered;
      socket.destroy();
    }),
  'with 17 MiB announced, once it is refused': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      await send(socket, headOf(request, lengthOf(17 * megabyte)));
      socket.write(Buffer.alloc(megabyte));
      await answered;
      socket.destroy();
    }),
  'with 17 MiB announced and sent, reset once it is refused': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      socket.write(headOf(request, lengthOf(17 * megabyte)));
      for (let sent = 0; sent < 17; sent++) socket.write(Buffer.alloc(megabyte));
      await answered;
      socket.resetAndDestroy();
    }),
  'with 17 MiB in chunks, once it is refused': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      socket.write(headOf(request, 'Transfer-Encoding: chunked'));
      for (let sent = 0; sent < 17; sent++) {
        socket.write(`${megabyte.toString(16)}\r\n`);
        socket.write(Buffer.alloc(megabyte));
        socket.write('\r\n');
      }
      await answered;
      socket.destroy();
    }),
  'refused for its credentials, within the body': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      await send(socket, headOf({ ...request, headers: ['X-API-Key: no-key'] }, lengthOf(megabyte)));
      await answered;
      socket.destroy();
    }),
  'refused for its media type, within the body': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      const headers = request.headers.filter((header) => !header.startsWith('Content-Type'));
      await send(socket, headOf({ ...request, headers: [...headers, 'Content-Type: image/png'] }, lengthOf(megabyte)));
      await answered;
      socket.destroy();
    }),
  'with an expectation, and no body': (port, request) =>
    within(port, async (socket) => {
      const answered = firstBytes(socket);
      await send(socket, headOf(request, lengthOf(100), 'Expect: 100-continue'));
      await answered;
      socket.destroy();
    }),
  'with a broken second request behind the first': (port, request) =>
    within(port, async (socket) => {
      const one = Buffer.concat([Buffer.from(headOf(request, lengthOf(request.body.length))), request.body]);
      await send(socket, Buffer.concat([one, Buffer.from('NONSENSE\r\n\r\n')]));
      socket.resetAndDestroy();
    }),
  'asking for a tunnel, with a reset': (port) =>
    within(port, async (socket) => {
      await send(socket, 'CONNECT other:443 HTTP/1.1\r\nHost: other\r\n\r\nhello');
      socket.resetAndDestroy();
    }),
  'asking for an upgrade, with a reset': (port, request) =>
    within(port, async (socket) => {
      await send(socket, headOf(request, 'Connection: Upgrade', 'Upgrade: websocket', lengthOf(0)));
      socket.resetAndDestroy();
    }),
};

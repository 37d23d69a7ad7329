import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** The result of a slow sender: all data from the server, and the time at which the server closed the connection. */
export interface SlowSender {
  socket: Socket;
  answer: Promise<{ text: string; afterMs: number }>;
}

/** Starts a request of this many bytes and sends the first of them. The test sends the others. */
export async function beginRequest(
  url: string,
  { path, key, type, bytes, first }: { path: string; key: string; type: string; bytes: number; first: Buffer },
): Promise<SlowSender> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined); // The server may close the connection.
  await once(socket, 'connect');
  const startedAtMs = performance.now();
  const answer = readAll(socket).then((text) => ({ text, afterMs: performance.now() - startedAtMs }));
  const head = [`POST ${path} HTTP/1.1`, 'Host: slow', `X-API-Key: ${key}`, `Content-Type: ${type}`];
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${bytes}\r\n\r\n`);
  socket.write(first);
  return { socket, answer };
}

function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
    });
    socket.once('close', () => resolve(text));
  });
}

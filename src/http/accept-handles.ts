import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { within } from '../lib/within.ts';

/** A process starts in a tenth of this. */
const duplicateMsMax = 5_000;

/** Sends the handle that it is given back so often, and ends with its parent. */
const sendBack = `
process.once('message', (count, handle) => {
  for (let sent = 0; sent < count; sent++) process.send('', handle, { keepOpen: true });
});
process.once('disconnect', () => process.exit());`;

/**
 * Gives a listening server `count` more handles of its socket, whose connections it serves like its own. libuv accepts one connection
 * per handle and turn of the event loop (`uv__server_io`): while turns take 15 ms, a server with one handle accepts 67 connections a
 * second, and all that exceed it wait in the kernel, whoever they belong to.
 *
 * Node can duplicate a handle only by sending it to another process, so a short-lived one sends it back. It never listens itself.
 * @returns the servers of the handles, which the caller closes: fewer than `count` when the other process does not answer within 5 s
 */
export async function addAcceptHandles(server: HttpServer, count: number): Promise<Server[]> {
  if (count === 0) return [];
  const added: Server[] = [];
  const child = spawn(process.execPath, ['-e', sendBack], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {} });
  const closed = once(child, 'close').catch(() => undefined);
  try {
    await within(duplicateMsMax, () => receiveHandles(child, { server, count, added }));
  } catch {
    // Connections are accepted all the same, only not as many at a time.
  } finally {
    child.removeAllListeners('message');
    child.kill('SIGKILL');
    await closed; // Until then the socket would go on listening when all servers are closed.
  }
  return added;
}

function receiveHandles(
  child: ChildProcess,
  { server, count, added }: { server: HttpServer; count: number; added: Server[] },
): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error('The process ended before it had sent all handles')));
    child.on('message', (_message, handle) => {
      // To listen to nothing would open another port.
      if (handle === undefined || handle === null) return reject(new Error('The process sent no handle'));
      const accepting = createServer({ allowHalfOpen: true, noDelay: true });
      accepting.on('connection', (socket: Socket) => server.emit('connection', socket));
      accepting.listen(handle);
      added.push(accepting);
      if (added.length === count) resolve();
    });
    // A bare handle, where Node's types know only servers and sockets: the other process would listen to a server it is sent.
    const { _handle } = server as unknown as { _handle: Server };
    child.send(count, _handle, (error) => error && reject(error));
  });
}

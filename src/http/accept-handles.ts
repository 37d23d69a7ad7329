import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { within } from '../lib/within.ts';

/** Longest wait for the helper process. It usually starts within a tenth of this time. */
const duplicateMsMax = 5_000;

/**
 * Code of the helper process. It sends the received handle back `count` times and ends when its
 * parent ends.
 */
const sendBack = `
process.once('message', (count, handle) => {
  for (let sent = 0; sent < count; sent++) process.send('', handle, { keepOpen: true });
});
process.once('disconnect', () => process.exit());`;

/**
 * Adds `count` handles of the socket of a listening server; the server serves their connections
 * like its own. libuv accepts one connection per handle and turn of the event loop
 * (`uv__server_io`): with turns of 15 ms and one handle, a server accepts 67 connections a second,
 * and all others wait in the kernel. Node can duplicate a handle only by sending it to another
 * process, so a short-lived helper process sends it back. The helper never listens itself.
 * @returns the servers of the handles, which the caller must close; fewer than `count` when the
 * helper does not answer within 5 s
 */
export async function addAcceptHandles(server: HttpServer, count: number): Promise<Server[]> {
  if (count === 0) return [];
  const added: Server[] = [];
  const child = spawn(process.execPath, ['-e', sendBack], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {} });
  const closed = once(child, 'close').catch(() => undefined);
  try {
    await within(duplicateMsMax, () => receiveHandles(child, { server, count, added }));
  } catch {
    // Without these handles the server still accepts connections, only fewer per turn.
  } finally {
    child.removeAllListeners('message');
    child.kill('SIGKILL');
    await closed; // Until the helper ends, the socket stays open though all servers are closed.
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
      // `listen` without a handle would open another port.
      if (handle === undefined || handle === null) return reject(new Error('The process sent no handle'));
      const accepting = createServer({ allowHalfOpen: true, noDelay: true });
      accepting.on('connection', (socket: Socket) => server.emit('connection', socket));
      accepting.on('error', () => undefined);
      accepting.listen(handle);
      added.push(accepting);
      if (added.length === count) resolve();
    });
    // Sends the bare handle, although Node's types allow only servers and sockets: a process that
    // receives a server starts to listen on it.
    const { _handle } = server as unknown as { _handle: Server };
    child.send(count, _handle, (error) => error && reject(error));
  });
}

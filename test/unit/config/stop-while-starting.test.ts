import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** An engine that accepts connections and answers nothing. */
async function hungEngine() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ends.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return { server, at: `127.0.0.1:${address.port}` };
}

test.each(['src/main.ts', 'workers/main.ts'])(
  '%s ends in order when it is told to stop while it still starts',
  async (program) => {
    const { server, at } = await hungEngine();
    const env = {
      PATH: process.env.PATH,
      PORT: '0',
      DATABASE_URL: `postgres://u:p@${at}/d`,
      REDIS_URL: `redis://${at}`,
      CLICKHOUSE_URL: `http://${at}`,
      ADMIN_API_KEY: 'a'.repeat(24),
      API_KEY_PEPPER: 'p'.repeat(24),
    };
    const child = spawn(process.execPath, ['--import', 'tsx', program], { cwd: root, env, stdio: 'ignore' });
    ends.push(() => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    await once(server, 'connection');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  },
  60_000,
);

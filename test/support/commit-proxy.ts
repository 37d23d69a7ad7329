import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CommitProxy {
  /** Of the database behind the proxy. */
  url: string;
  /** The next COMMIT reaches the server, and its answer does not reach the client, whose connection ends. */
  loseNextCommit(): void;
  close(): Promise<void>;
}

/** Stands in front of Postgres. */
export async function startCommitProxy(databaseUrl: string): Promise<CommitProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isArmed = false;

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let isLost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined); // The other end follows on `close`.
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
        sockets.delete(socket);
      });
    }
    client.on('data', (bytes) => {
      if (isArmed && bytes.includes('COMMIT')) [isArmed, isLost] = [false, true];
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => (isLost ? client.destroy() : client.write(bytes)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${address.port}`;
  return {
    url: url.href,
    loseNextCommit() {
      isArmed = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

export interface PostgresProxy {
  url: string;
  /** From now on, holds back the responses to statements with this text. */
  hold(text: string): void;
  /** Number of connections that wait for a held response. */
  held(): number;
  /** Number of statements with the text since `hold`, including those whose responses were released. */
  asked(): number;
  /** Releases all responses. */
  release(): void;
  /**
   * Closes the connection of the client instead of sending the response to the `nth` next COMMIT. The server executes it,
   * or with `arrives: false` never gets it.
   */
  loseCommit(nth?: number, options?: { arrives: boolean }): void;
  close(): Promise<void>;
}

/** A proxy between a process and Postgres. It can hold back responses, temporarily or permanently. */
export async function startPostgresProxy(targetUrl: string): Promise<PostgresProxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  const held = new Set<Socket>();
  let wanted: string | undefined;
  let isHolding = false;
  let commitsUntilLoss = 0;
  let arrives = true;
  let asked = 0;

  const server = createServer((socket) => {
    const onward = createConnection(Number(target.port), target.hostname);
    let isLost = false;
    socket.on('data', (chunk) => {
      if (commitsUntilLoss > 0 && chunk.includes('COMMIT') && --commitsUntilLoss === 0) isLost = true;
      if (isLost && !arrives) {
        socket.destroy();
        return;
      }
      if (wanted !== undefined && chunk.includes(wanted)) {
        asked += 1;
        if (isHolding) {
          held.add(onward);
          onward.pause();
        }
      }
      onward.write(chunk);
    });
    onward.on('data', (chunk) => (isLost ? socket.destroy() : socket.write(chunk)));
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        held.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  const url = new URL(targetUrl);
  url.port = String(address.port);

  return {
    url: url.href,
    hold(text) {
      wanted = text;
      isHolding = true;
      asked = 0;
    },
    held: () => held.size,
    asked: () => asked,
    release() {
      isHolding = false;
      for (const onward of held) onward.resume();
      held.clear();
    },
    loseCommit(nth = 1, options = { arrives: true }) {
      commitsUntilLoss = nth;
      arrives = options.arrives;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

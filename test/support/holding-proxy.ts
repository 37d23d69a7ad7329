import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

export interface HoldingProxy {
  url: string;
  /** Lets the bytes of clients wait, or passes them on again. */
  hold(on: boolean): void;
  /** From now on passes nothing on over the connections that are open, and does not close them. New ones work. */
  silence(): void;
  close(): Promise<void>;
}

/** Passes connections on to a port until it is told to let bytes wait. */
export async function startHoldingProxy(targetUrl: string): Promise<HoldingProxy> {
  const { hostname, port } = new URL(targetUrl);
  let isHeld = false;
  const pairs = new Map<Socket, { onward: Socket; isSilent: boolean }>();
  const apply = () => {
    for (const [socket, { onward, isSilent }] of pairs) {
      if (isSilent) onward.pause();
      if (isHeld || isSilent) socket.pause();
      else socket.resume();
    }
  };
  const server = createServer((socket) => {
    const onward = createConnection(Number(port), hostname);
    pairs.set(socket, { onward, isSilent: false });
    socket.on('data', (chunk) => onward.write(chunk));
    onward.on('data', (chunk) => socket.write(chunk));
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        pairs.delete(socket);
        other.destroy();
      });
    }
    apply();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: targetUrl.replace(port, String(typeof address === 'object' && address?.port)),
    hold(on) {
      isHeld = on;
      apply();
    },
    silence() {
      for (const pair of pairs.values()) pair.isSilent = true;
      apply();
    },
    async close() {
      for (const socket of pairs.keys()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

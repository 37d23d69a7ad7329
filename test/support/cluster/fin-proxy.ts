import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface FinProxy {
  port: number;
  close(): Promise<void>;
}

/**
 * Forwards TCP connections to a port of this machine. It ends each of them in an orderly way (FIN): a server out of
 * the library of chDB aborts when a peer resets a connection (RST).
 */
export async function startFinProxy(targetPort: number): Promise<FinProxy> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [client, target]) {
      open.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('data', (data) => forward(data, client, target));
    target.on('data', (data) => forward(data, target, client));
    client.once('end', () => target.end());
    client.once('close', () => {
      open.delete(client);
      // What the server still sends is read and dropped, because unread data would make the kernel reset the connection.
      target.end();
      target.resume();
    });
    target.once('end', () => client.end());
    target.once('close', () => {
      open.delete(target);
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      for (const socket of open) socket.end();
      await once(server, 'close');
    },
  };
}

function forward(data: Buffer, from: Socket, to: Socket): void {
  if (!to.writable || to.write(data)) return;
  from.pause();
  to.once('drain', () => from.resume());
  to.once('close', () => from.resume());
}

import { once } from 'node:events';
import { createServer } from 'node:net';

// The ports are below the ephemeral range (32768 on Linux, 49152 on macOS). Otherwise a client that
// retries a stopped engine could get the port of the engine as its own, connect to itself, and
// prevent the engine from starting.
const PORT_FROM = 20_000;
const PORT_COUNT = 10_000;

/** Returns `preferred` if it is free, otherwise a random free port from 20000 to 29999, on 127.0.0.1. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portFault('127.0.0.1', preferred)) === undefined) return preferred;
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = PORT_FROM + Math.floor(Math.random() * PORT_COUNT);
    if ((await portFault('127.0.0.1', port)) === undefined) return port;
  }
  throw new Error(`no free port found in 200 attempts between ${PORT_FROM} and ${PORT_FROM + PORT_COUNT - 1}`);
}

/** Returns the error code of listening (EADDRINUSE, EACCES, …), or undefined if the port is free. */
export async function portFault(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    server.close();
  }
}

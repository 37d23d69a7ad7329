import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ephemeral range (32768 on Linux, 49152 on macOS): a client that retries against a stopped engine could
// otherwise be given the engine's own port, connect to itself and keep the engine from starting again.
const PORT_FROM = 20_000;
const PORT_COUNT = 10_000;

/** `preferred` when it is free, else a random free port between 20000 and 29999, on 127.0.0.1. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portFault('127.0.0.1', preferred)) === undefined) return preferred;
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = PORT_FROM + Math.floor(Math.random() * PORT_COUNT);
    if ((await portFault('127.0.0.1', port)) === undefined) return port;
  }
  throw new Error(`no free port found in 200 attempts between ${PORT_FROM} and ${PORT_FROM + PORT_COUNT - 1}`);
}

/** The error code (EADDRINUSE, EACCES, …) that listening would meet, undefined when the port is free. */
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

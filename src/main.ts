import './lib/own-garbage.ts';
import './lib/young-objects.ts';
import { readConfig } from './config.ts';
import { createContainer } from './container.ts';
import { listen } from './http/server.ts';

/** Requests that still run when the process is told to stop get this long. */
const drainMs = 15_000;
/** Turns of the event loop take some 10 ms under load, so these are a thousand new connections a second. */
const acceptHandles = 16;

const config = readConfig();
const container = createContainer(config);
await container.start();
container.prepare();
const server = await listen({ app: container.app, port: config.port, host: config.host, acceptHandles });
container.logger.info({ port: server.port, host: config.host }, 'listening');
container.warmUp();

let stopping = false;
async function stop(signal: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  container.logger.info({ signal }, 'draining');
  await server.close(drainMs);
  await container.close();
  process.exit(0);
}

process.on('SIGTERM', () => void stop('SIGTERM'));
process.on('SIGINT', () => void stop('SIGINT'));

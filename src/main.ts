import './runtime/own-garbage.ts';
import './runtime/young-objects.ts';
import { createApiProcess } from './api/process.ts';
import { configOrExit } from './cli/config-or-exit.ts';
import { listen } from './http/server.ts';

/** Time for running requests to finish after the process is told to stop. */
const drainMs = 15_000;
/**
 * A turn of the event loop takes about 10 ms under load, so this allows about a thousand new
 * connections per second.
 */
const acceptHandles = 16;

const config = configOrExit();
const api = createApiProcess(config);
await api.start();
await api.prepare();
const server = await listen({ app: api.app, port: config.port, host: config.host, acceptHandles });
api.logger.info({ port: server.port, host: config.host }, 'listening');
api.warmUp();

let stopping = false;
async function stop(signal: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  api.logger.info({ signal }, 'draining');
  api.endStreams();
  await server.close(drainMs);
  await api.close();
  process.exit(0);
}

process.on('SIGTERM', () => void stop('SIGTERM'));
process.on('SIGINT', () => void stop('SIGINT'));

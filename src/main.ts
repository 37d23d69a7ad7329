import './runtime/own-garbage.ts';
import './runtime/young-objects.ts';
import { createApiProcess } from './api/process.ts';
import { configOrExit } from './cli/config-or-exit.ts';
import { unlimitedHeaders } from './domains/quotas/index.ts';
import { listen, type RunningServer } from './http/server.ts';
import { onStopSignal } from './runtime/on-stop-signal.ts';

/** Time for running requests to finish after the process is told to stop. */
const drainMs = 15_000;
/**
 * A turn of the event loop takes about 10 ms under load, so this allows about a thousand new
 * connections per second.
 */
const acceptHandles = 16;

const config = configOrExit();
const api = createApiProcess(config);
let listening: Promise<RunningServer> | undefined;

onStopSignal(async (signal) => {
  api.logger.info({ signal }, 'draining');
  // Before it listens, the process has no requests, and its start may wait for a dependency.
  if (listening === undefined) return;
  api.endStreams();
  const server = await listening;
  await server.close(drainMs);
  await api.close();
});

await api.start();
await api.prepare();
const headers = () => unlimitedHeaders('none');
listening = listen({ app: api.app, headers, port: config.port, host: config.host, acceptHandles });
const { port } = await listening;
api.logger.info({ port, host: config.host }, 'listening');
api.warmUp();

import { once } from 'node:events';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openEngine } from './engine.ts';
import { PASSWORD_VARIABLE } from './protocol.ts';
import { createHttp } from './server.ts';
import { SessionPool } from './session-pool.ts';

/** The process of the embedded ClickHouse. start.ts starts it and sets what the process cannot set itself. */
const SELECT_SESSIONS_MAX = 6;
const INSERT_SESSIONS_MAX = 3;
const SELECT_GRACE_MS = 2_000;

try {
  await main();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`clickhouse: ${message}\n`);
  process.send?.({ error: message });
  process.exitCode = 1;
  process.disconnect?.();
}

async function main(): Promise<void> {
  const { dataDir, host, port } = readArguments();
  const engine = await openEngine(resolve(dataDir));
  const selects = new SessionPool(engine.path, SELECT_SESSIONS_MAX);
  const inserts = new SessionPool(engine.path, INSERT_SESSIONS_MAX);
  const http = createHttp({ engine, selects, inserts }, process.env[PASSWORD_VARIABLE]);
  try {
    http.server.listen(port, host);
    await once(http.server, 'listening');
  } catch (error) {
    await engine.close();
    throw new Error(`cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`);
  }
  exitOnRequest(async () => {
    await http.drain(SELECT_GRACE_MS);
    await engine.close();
  });
  await selects.warmUp();
  const address = http.server.address();
  const boundPort = typeof address === 'object' && address !== null ? address.port : port;
  process.stdout.write(`${JSON.stringify({ ready: true, host, port: boundPort, pid: process.pid })}\n`);
}

function readArguments(): { dataDir: string; host: string; port: number } {
  const { values } = parseArgs({
    options: {
      'data-dir': { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '0' },
    },
  });
  const dataDir = values['data-dir'];
  if (dataDir === undefined) throw new Error('--data-dir is missing');
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port ${values.port} is not a number from 0 to 65535`);
  }
  return { dataDir, host: values.host, port };
}

/**
 * SIGTERM, or the end of the parent, ends the process after the running statements. A terminal
 * sends Ctrl-C to its whole process group. If there is a parent, the parent handles it.
 */
function exitOnRequest(close: () => Promise<void>): void {
  let isClosing = false;
  const exit = () => {
    if (isClosing) return;
    isClosing = true;
    void close().then(() => process.exit(0));
  };
  const hasParent = process.connected;
  process.on('SIGTERM', exit);
  process.on('SIGHUP', exit);
  process.on('SIGINT', hasParent ? () => undefined : exit);
  if (hasParent) process.on('disconnect', exit);
}

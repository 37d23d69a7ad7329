import { Writable } from 'node:stream';
import { createApp } from '../../src/http/app.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { listen } from '../../src/http/server.ts';
import { createLatencyRecorder } from '../../src/telemetry/latency.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

/** A destination of a logger that stores the written lines. */
export function keptLog() {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { destination, text: () => lines.join(''), records: () => lines.map((line) => JSON.parse(line)) };
}

/** Starts an application with `endpoints` on a free port of loopback. By default `authorize` accepts every request. */
export async function serve<P = unknown>(
  endpoints: readonly Endpoint<P>[],
  options: Pick<AppOptions<P>, 'authorize'> & Partial<AppOptions<P>>,
) {
  const log = keptLog();
  const metrics = createMetrics();
  const latency = createLatencyRecorder();
  const app = createApp<P>({
    endpoints,
    logger: createLogger({ level: 'debug', name: 'test', destination: log.destination }),
    metrics,
    latency,
    ...options,
  });
  const server = await listen({
    app,
    port: 0,
    host: '127.0.0.1',
    ...(options.headers && { headers: options.headers }),
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    log,
    metrics,
    latency,
    close: (drainMs = 1_000) => server.close(drainMs),
  };
}

import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface RequestSample {
  operation: string;
  method: string;
  status: number;
  ms: number;
}

export interface Metrics {
  /** For further metrics of the process: pass it in their `registers`. */
  registry: Registry;
  observeRequest(sample: RequestSample): void;
}

/** A registry of its own per process (and per test): Node's default metrics, event loop delay among them, and HTTP. */
export function createMetrics(labels: Readonly<Record<string, string>> = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request line to the end of the answer',
    labelNames: ['operation', 'method', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    registry,
    observeRequest({ operation, method, status, ms }) {
      requests.observe({ operation, method, status }, ms / 1_000);
    },
  };
}

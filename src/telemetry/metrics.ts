import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface RequestSample {
  operation: string;
  method: string;
  status: number;
  ms: number;
}

/** Counters that are stored elsewhere and read when Prometheus scrapes. */
export interface KeptCounts<Label extends string> {
  name: string;
  help: string;
  labels: readonly Label[];
  read(): Promise<readonly (Readonly<Record<Label, string>> & { count: number })[]>;
}

/** Values that are read when Prometheus scrapes. */
export interface KeptGauge<Label extends string> {
  name: string;
  help: string;
  labels: readonly Label[];
  read(): Promise<readonly (Readonly<Record<Label, string>> & { value: number })[]>;
}

export interface Metrics {
  /** Registry for further metrics of the process; pass it in their `registers`. */
  registry: Registry;
  observeRequest(sample: RequestSample): void;
  /**
   * Exports counters. Counters that cannot be read are omitted, because the other metrics are most
   * needed when a dependency is unavailable.
   */
  exportCounts<Label extends string>(counts: KeptCounts<Label>): void;
  /** Exports gauges; otherwise like `exportCounts`. */
  exportGauge<Label extends string>(gauge: KeptGauge<Label>): void;
}

/**
 * Creates a separate registry per process (and per test), with the default metrics of Node,
 * including event loop delay, and HTTP metrics.
 */
export function createMetrics(labels: Readonly<Record<string, string>> = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request line to the end of the response',
    labelNames: ['operation', 'method', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    registry,
    observeRequest({ operation, method, status, ms }) {
      requests.observe({ operation, method, status }, ms / 1_000);
    },
    exportCounts({ name, help, labels, read }) {
      new Counter<string>({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        async collect() {
          clear(this);
          const counts = await read().catch(() => []);
          for (const { count, ...of } of counts) this.inc(of, count);
        },
      });
    },
    exportGauge({ name, help, labels, read }) {
      new Gauge<string>({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        async collect() {
          clear(this);
          const values = await read().catch(() => []);
          for (const { value, ...of } of values) this.set(of, value);
        },
      });
    },
  };
}

/** Removes every value. The library's `reset` sets a metric without labels to 0, which looks like a value that was read. */
function clear(metric: Counter | Gauge): void {
  metric.reset();
  metric.remove({});
}

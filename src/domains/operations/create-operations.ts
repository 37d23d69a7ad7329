import type { Queue } from 'bullmq';
import { identityEventCounts } from '../../queue/identity-event-counts.ts';
import { logCounts } from '../../queue/log-counts.ts';
import { queueGauges } from '../../queue/queue-gauges.ts';
import { readQueueStats } from '../../queue/queue-stats.ts';
import type { RedisClock } from '../../queue/redis-clock.ts';
import { summaryCounts } from '../../queue/summary-counts.ts';
import { readWorkerFigures } from '../../queue/worker-figures.ts';
import { workerCounts, workerFreshness } from '../../queue/worker-metrics.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Probe } from '../../telemetry/health.ts';
import type { LatencyRecorder } from '../../telemetry/latency.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { createDocuments } from './documents.ts';
import type { DependencyName } from './operations.schema.ts';

/**
 * Creates what the operations endpoints report, once per process. Adds the metrics of queues and workers and the
 * counters of events and summaries to `metrics`.
 */
export function createOperations(deps: {
  version: string;
  redis: Redis;
  clock: RedisClock;
  queues: readonly Queue[];
  probes: Readonly<Record<DependencyName, Probe>>;
  latency: LatencyRecorder;
  metrics: Metrics;
  /** Builds the OpenAPI document. */
  openApi: () => Promise<object>;
}) {
  const { version, redis, clock, queues, probes, latency, metrics, openApi } = deps;
  const queueStats = () => Promise.all(queues.map((queue) => readQueueStats(queue, clock.nowMs())));
  metrics.exportCounts(identityEventCounts(redis));
  metrics.exportCounts(summaryCounts(redis));
  metrics.exportCounts(logCounts(redis));
  const workers = () => readWorkerFigures(redis, clock.nowMs());
  metrics.exportCounts(workerCounts(workers));
  metrics.exportGauge(workerFreshness(workers));
  for (const gauge of queueGauges(queueStats)) metrics.exportGauge(gauge);
  const ingestStats = async () => ({
    ackP99Ms: latency.summary('POST /api/v1/traces').p99_ms,
    freshnessP95Ms: worst((await workers()).map((figures) => figures.freshnessP95Ms)),
  });
  const documents = createDocuments(openApi);
  return { version, startedAtMs: Date.now(), probes, latency, metrics, queueStats, ingestStats, documents };
}

function worst(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

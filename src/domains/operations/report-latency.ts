import { within } from '../../lib/within.ts';
import type { Probe } from '../../telemetry/health.ts';
import type { LatencyRecorder } from '../../telemetry/latency.ts';
import type { DependencyName, LatencyReport } from './operations.schema.ts';

export interface QueueStats {
  name: string;
  waiting: number;
  active: number;
  failed: number;
  /** Age of the job that waits longest; null when none waits. */
  oldestAgeMs: number | null;
}

export interface IngestStats {
  /** From the request to its acknowledgment. */
  ackP99Ms: number | null;
  /** From the acknowledgment until the spans are readable. */
  freshnessP95Ms: number | null;
}

export interface LatencyDeps {
  probes: Readonly<Record<DependencyName, Probe>>;
  latency: LatencyRecorder;
  queueStats: () => Promise<readonly QueueStats[]>;
  ingestStats: () => Promise<IngestStats>;
}

/**
 * Reports the latencies that this process has measured. Works also while the queue is unavailable;
 * `unavailable` then names what is missing.
 */
export async function reportLatency({ probes, latency, queueStats, ingestStats }: LatencyDeps): Promise<LatencyReport> {
  const [queues, ingest] = await Promise.all([orNull(queueStats), orNull(ingestStats)]);
  const unavailable: LatencyReport['unavailable'] = [];
  if (queues === null) unavailable.push('queues');
  if (ingest === null) unavailable.push('ingest');
  return {
    now: new Date().toISOString(),
    dependencies: {
      postgres: dependency(probes.postgres),
      clickhouse: dependency(probes.clickhouse),
      redis: dependency(probes.redis),
    },
    routes: latency.names().map((route) => {
      const { count, p50_ms, p95_ms, p99_ms } = latency.summary(route);
      return { route, count, p50_ms, p95_ms, p99_ms };
    }),
    queues: (queues ?? []).map(({ oldestAgeMs, ...queue }) => ({ ...queue, oldest_age_ms: oldestAgeMs })),
    ingest: { ack_p99_ms: ingest?.ackP99Ms ?? null, freshness_p95_ms: ingest?.freshnessP95Ms ?? null },
    unavailable,
  };
}

const statsTimeoutMs = 1_000;

async function orNull<T>(load: () => Promise<T>): Promise<T | null> {
  try {
    return await within(statsTimeoutMs, load);
  } catch {
    return null;
  }
}

function dependency(probe: Probe): LatencyReport['dependencies']['postgres'] {
  const { p50_ms, p95_ms, last_ms } = probe.latency();
  return { p50_ms, p95_ms, last_ms };
}

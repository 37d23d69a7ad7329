import type { Probe } from '../../telemetry/health.ts';
import { type DependencyName, dependencyNames, type HealthReport } from './operations.schema.ts';

export interface HealthDeps {
  version: string;
  /** Wall clock of the start of the process. */
  startedAtMs: number;
  probes: Readonly<Record<DependencyName, Probe>>;
}

/**
 * What the service is without a dependency. Without Postgres or Redis it cannot authenticate or take in spans: down.
 * Without ClickHouse it still takes in spans, and serves prompts, but not executions and analytics: degraded.
 */
const statusWithout = {
  postgres: 'down',
  redis: 'down',
  queue: 'down',
  clickhouse: 'degraded',
} as const satisfies Record<DependencyName, HealthReport['status']>;

/** Asks every dependency, within the probes' time-outs. */
export async function reportHealth(deps: HealthDeps): Promise<HealthReport> {
  const checks: HealthReport['checks'] = {};
  const statuses = new Set<HealthReport['status']>();
  await Promise.all(
    dependencyNames.map(async (name) => {
      const { ok, latencyMs, detail } = await deps.probes[name].read();
      checks[name] = { status: ok ? 'ok' : 'down', latency_ms: latencyMs, ...(detail === undefined ? {} : { detail }) };
      if (!ok) statuses.add(statusWithout[name]);
    }),
  );
  const status = statuses.has('down') ? 'down' : statuses.has('degraded') ? 'degraded' : 'ok';
  return { ...reportLiveness(deps), status, checks };
}

/** That the process answers; touches no dependency. */
export function reportLiveness({ version, startedAtMs }: HealthDeps): HealthReport {
  return { status: 'ok', version, uptime_s: Math.max(0, Math.floor((Date.now() - startedAtMs) / 1_000)), checks: {} };
}

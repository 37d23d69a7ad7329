import type { Probe } from '../../telemetry/health.ts';
import { type DependencyName, dependencyNames, type HealthReport } from './operations.schema.ts';

export interface HealthDeps {
  version: string;
  /** Wall-clock time of the process start. */
  startedAtMs: number;
  probes: Readonly<Record<DependencyName, Probe>>;
}

type Status = HealthReport['status'];

/**
 * Status of the service without a dependency. Without Postgres or Redis it cannot authenticate or
 * receive spans: down. Without ClickHouse it still receives spans and serves prompts, but not
 * executions and analytics: degraded.
 */
const without = {
  postgres: { status: 'down', reason: 'cannot authenticate: Postgres does not respond' },
  redis: { status: 'down', reason: 'does not accept spans: Redis does not respond' },
  queue: { status: 'down', reason: 'does not accept spans: the queue does not respond' },
  clickhouse: { status: 'degraded', reason: 'accepts spans but does not store them: ClickHouse does not respond' },
} as const satisfies Record<DependencyName, { status: Status; reason: string }>;

const worstFirst = ['down', 'degraded', 'ok'] as const satisfies Status[];

/** Probes all dependencies, within the time-outs of the probes. */
export async function reportHealth(deps: HealthDeps): Promise<HealthReport> {
  const checks: HealthReport['checks'] = {};
  const statuses = new Set<Status>();
  await Promise.all(
    dependencyNames.map(async (name) => {
      const { ok, latencyMs, detail, concern } = await deps.probes[name].read();
      if (!ok) statuses.add((concern ?? without[name]).status);
      checks[name] = ok
        ? { status: 'ok', latency_ms: latencyMs }
        : {
            status: concern?.status ?? 'down',
            latency_ms: latencyMs,
            ...(detail === undefined ? {} : { detail }),
            reason: (concern ?? without[name]).reason,
          };
    }),
  );
  const status = worstFirst.find((each) => statuses.has(each)) ?? 'ok';
  return { ...reportLiveness(deps), status, checks };
}

/** Reports that the process answers. Uses no dependency. */
export function reportLiveness({ version, startedAtMs }: HealthDeps): HealthReport {
  return { status: 'ok', version, uptime_s: Math.max(0, Math.floor((Date.now() - startedAtMs) / 1_000)), checks: {} };
}

import { z } from 'zod';

export const dependencyNames = ['postgres', 'clickhouse', 'redis', 'queue'] as const;
export type DependencyName = (typeof dependencyNames)[number];

const healthStatus = z.enum(['ok', 'degraded', 'down']);
const checkResult = z
  .object({
    status: healthStatus,
    latency_ms: z.number(),
    detail: z.string().optional().meta({ description: 'The code of the error, if there was no response' }),
    reason: z.string().optional().meta({ description: 'What does not work for it' }),
  })
  .meta({ id: 'HealthCheck' });

export const healthReport = z
  .object({
    status: healthStatus,
    version: z.string(),
    uptime_s: z.int(),
    checks: z.partialRecord(z.enum(dependencyNames), checkResult),
  })
  .meta({ id: 'Health' });
export type HealthReport = z.output<typeof healthReport>;

const ms = z.number().nullable();
const dependencyLatency = z.object({ p50_ms: ms, p95_ms: ms, last_ms: ms }).meta({ id: 'DependencyLatency' });

export const latencyReport = z
  .object({
    now: z.string(),
    dependencies: z.object({ postgres: dependencyLatency, clickhouse: dependencyLatency, redis: dependencyLatency }),
    routes: z.array(z.object({ route: z.string(), count: z.int(), p50_ms: ms, p95_ms: ms, p99_ms: ms })),
    queues: z.array(
      z.object({ name: z.string(), waiting: z.int(), active: z.int(), failed: z.int(), oldest_age_ms: ms }),
    ),
    ingest: z.object({ ack_p99_ms: ms, freshness_p95_ms: ms }),
    /** Sources that could not be read. Without this, an empty list would look like an empty queue. */
    unavailable: z.array(z.enum(['queues', 'ingest'])),
  })
  .meta({ id: 'Latency' });
export type LatencyReport = z.output<typeof latencyReport>;

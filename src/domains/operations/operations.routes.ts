import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { cachedFor } from '../../lib/cached-for.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { docsEndpoints } from './docs.routes.ts';
import type { Documents } from './documents.ts';
import { healthReport, latencyReport } from './operations.schema.ts';
import { type HealthDeps, reportHealth, reportLiveness } from './report-health.ts';
import { type LatencyDeps, reportLatency } from './report-latency.ts';

export interface OperationsDeps extends HealthDeps, LatencyDeps {
  metrics: Metrics;
  documents: Documents;
}

const metricsExample = 'http_request_duration_seconds_count{operation="getHealth",method="GET",status="200"} 12\n';

/** Open routes that query a dependency cache its answer for one second. */
const cacheMs = 1_000;

/** Creates the endpoints for health, latency, metrics and the API description. */
export function operationsEndpoints(deps: OperationsDeps) {
  const latency = cachedFor(cacheMs, () => reportLatency(deps));
  return [
    healthEndpoint(deps),
    latencyEndpoint(latency),
    metricsEndpoint(deps.metrics),
    ...docsEndpoints(deps.documents),
  ];
}

function healthEndpoint(deps: HealthDeps) {
  return endpoint({
    operationId: 'getHealth',
    method: 'GET',
    path: '/api/health',
    summary: 'Get the health of the service and of its dependencies',
    tag: 'operations',
    access: { open: true },
    rateClass: 'none',
    query: z.strictObject({
      probe: z
        .enum(['live', 'ready'])
        .default('ready')
        .meta({ description: '`live` checks only the process. `ready` also checks all dependencies' }),
    }),
    responses: {
      200: {
        description:
          'The service accepts requests. The status is `ok`, or `degraded` if spans are stored late or not at all',
        schema: healthReport,
      },
      503: { description: 'The service cannot authenticate requests or accept spans', schema: healthReport },
    },
    handle: async ({ query }) => {
      const body = query.probe === 'live' ? reportLiveness(deps) : await reportHealth(deps);
      if (body.status === 'down') return { status: 503, body, headers: { 'Retry-After': '1' } };
      return { status: 200, body };
    },
  });
}

function latencyEndpoint(latency: () => ReturnType<typeof reportLatency>) {
  return endpoint({
    operationId: 'getLatency',
    method: 'GET',
    path: '/api/latency',
    summary: 'Get the latencies of routes, dependencies, queues and ingestion in the last five minutes',
    tag: 'operations',
    access: { open: true },
    rateClass: 'none',
    responses: { 200: { description: 'Latencies measured by this process', schema: latencyReport } },
    handle: async () => ({ status: 200, body: await latency() }),
  });
}

function metricsEndpoint({ registry }: Metrics) {
  return endpoint({
    operationId: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Get the metrics of this process for Prometheus',
    tag: 'operations',
    access: { admin: true },
    rateClass: 'none',
    responses: { 200: { description: 'Prometheus text format', contentType: 'text/plain', example: metricsExample } },
    handle: async () => ({ status: 200, content: await registry.metrics(), contentType: registry.contentType }),
  });
}

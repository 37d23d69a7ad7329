import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { cachedFor } from '../../lib/cached-for.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { pagePolicy } from './docs/page.ts';
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
    openapiEndpoint(deps.documents),
    docsEndpoint(deps.documents),
  ];
}

function healthEndpoint(deps: HealthDeps) {
  return endpoint({
    operationId: 'getHealth',
    method: 'GET',
    path: '/api/health',
    summary: 'Whether the service can serve, and how each dependency is',
    tag: 'operations',
    access: { open: true },
    rateClass: 'none',
    query: z.strictObject({
      probe: z
        .enum(['live', 'ready'])
        .default('ready')
        .meta({ description: '`live` touches no dependency; `ready` asks all of them' }),
    }),
    responses: {
      200: {
        description: 'It serves: ok, or degraded, with the reason: spans are stored late or not at all',
        schema: healthReport,
      },
      503: { description: 'It cannot authenticate or take in spans', schema: healthReport },
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
    summary: 'Latencies of routes, dependencies, queues and ingestion over the last five minutes',
    tag: 'operations',
    access: { open: true },
    rateClass: 'none',
    responses: { 200: { description: 'As this process sees them', schema: latencyReport } },
    handle: async () => ({ status: 200, body: await latency() }),
  });
}

function metricsEndpoint({ registry }: Metrics) {
  return endpoint({
    operationId: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics of this process for Prometheus',
    tag: 'operations',
    access: { operator: true },
    rateClass: 'none',
    responses: { 200: { description: 'Prometheus text format', contentType: 'text/plain', example: metricsExample } },
    handle: async () => ({ status: 200, content: await registry.metrics(), contentType: registry.contentType }),
  });
}

function openapiEndpoint({ openapi }: Documents) {
  return endpoint({
    operationId: 'getOpenapi',
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'This interface as an OpenAPI 3.1 document',
    tag: 'operations',
    access: { open: true },
    rateClass: 'none',
    conditional: true,
    responses: {
      200: {
        description: 'The document',
        schema: z.looseObject({ openapi: z.string().meta({ example: '3.1.0' }) }),
      },
    },
    handle: async () => ({ status: 200, contentType: 'application/json', ...openapi() }),
  });
}

function docsEndpoint({ page }: Documents) {
  return endpoint({
    operationId: 'getDocs',
    method: 'GET',
    path: '/api/docs',
    summary: 'This interface as a page to read',
    tag: 'operations',
    access: { open: true },
    rateClass: 'none',
    conditional: true,
    responses: {
      200: { description: 'HTML that needs no script', contentType: 'text/html', example: '<!doctype html>' },
    },
    handle: async () => ({
      status: 200,
      contentType: 'text/html; charset=utf-8',
      headers: { 'Content-Security-Policy': pagePolicy },
      ...page(),
    }),
  });
}

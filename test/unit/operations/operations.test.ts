import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDocuments } from '../../../src/domains/operations/documents.ts';
import { type OperationsDeps, operationsEndpoints } from '../../../src/domains/operations/operations.routes.ts';
import { openApiDocument } from '../../../src/http/openapi/document.ts';
import { UnauthenticatedError } from '../../../src/lib/errors.ts';
import { postgresAway } from '../../../src/stores/postgres/errors.ts';
import { createProbe } from '../../../src/telemetry/health.ts';
import { createLatencyRecorder } from '../../../src/telemetry/latency.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { serve } from '../../support/http-app.ts';

type Check = () => Promise<unknown>;
const fine: Check = async () => 'pong';
const refused: Check = async () => {
  throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432 password=hunter2'), { code: 'ECONNREFUSED' });
};
const frozen: Check = () => new Promise(() => {});

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

async function start(
  checks: Partial<Record<keyof OperationsDeps['probes'], Check>>,
  more: Partial<OperationsDeps> = {},
) {
  const probe = (check: Check = fine) => createProbe({ check, timeoutMs: 50 });
  const probes = {
    postgres: probe(checks.postgres),
    clickhouse: probe(checks.clickhouse),
    redis: probe(checks.redis),
    queue: probe(checks.queue),
  };
  const latency = createLatencyRecorder();
  const endpoints = operationsEndpoints({
    version: '9.9.9',
    startedAtMs: Date.now() - 5_000,
    probes,
    latency,
    queueStats: async () => [{ name: 'ingestion', waiting: 3, active: 1, failed: 0, oldestAgeMs: 12 }],
    ingestStats: async () => ({ ackP99Ms: 4, freshnessP95Ms: null }),
    metrics: createMetrics({ process: 'api' }),
    documents: createDocuments(() => openApiDocument({ title: 't', version: '1', contracts: endpoints })),
    ...more,
  });
  const app = await serve<string>(endpoints, {
    latency,
    authorize: async (req) => {
      if (req.get('x-admin-key') === 'admin') return 'operator';
      throw new UnauthenticatedError('credentials_required', 'No credentials were given');
    },
  });
  stops.push(() => app.close());
  const call = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(app.url + path, { headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  };
  return { call, probes };
}

describe('GET /api/health', () => {
  test('is ok when every dependency answers', async () => {
    const { call } = await start({});
    const answer = await call('/api/health');
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      status: 'ok',
      version: '9.9.9',
      uptime_s: 5,
      checks: {
        postgres: { status: 'ok', latency_ms: expect.any(Number) },
        clickhouse: { status: 'ok', latency_ms: expect.any(Number) },
        redis: { status: 'ok', latency_ms: expect.any(Number) },
        queue: { status: 'ok', latency_ms: expect.any(Number) },
      },
    });
  });
  test.each(['postgres', 'redis', 'queue'] as const)(
    'is down and 503 without %s, and says no more than a code',
    async (name) => {
      const { call } = await start({ [name]: refused });
      const answer = await call('/api/health');
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(answer.json()).toMatchObject({
        status: 'down',
        checks: { [name]: { status: 'down', detail: 'ECONNREFUSED', reason: expect.stringMatching(/\w+ not \w+/) } },
      });
      expect(answer.text).not.toMatch(/hunter2|10\.0\.0\.7/);
    },
  );
  test('says what the engine said, and not the error that its client makes of it for callers', async () => {
    const { call } = await start({ postgres: () => refused().catch((error) => Promise.reject(postgresAway(error))) });
    expect((await call('/api/health')).json()).toMatchObject({ checks: { postgres: { detail: 'ECONNREFUSED' } } });
  });
  test('is degraded and 200 without ClickHouse, also when it is frozen', async () => {
    const { call } = await start({ clickhouse: frozen });
    const answer = await call('/api/health');
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ status: 'degraded', checks: { clickhouse: { detail: 'ETIMEDOUT' } } });
  });
  test('as a liveness probe touches no dependency', async () => {
    const check = vi.fn(refused);
    const { call } = await start({ postgres: check, redis: check, clickhouse: check, queue: check });
    const answer = await call('/api/health?probe=live');
    expect(answer.json()).toEqual({ status: 'ok', version: '9.9.9', uptime_s: 5, checks: {} });
    expect(check).not.toHaveBeenCalled();
  });
  test('asked a hundred times checks once', async () => {
    const check = vi.fn(fine);
    const { call } = await start({ redis: check });
    await Promise.all(Array.from({ length: 100 }, () => call('/api/health')));
    expect(check).toHaveBeenCalledTimes(1);
  });
  test('notices that a dependency is back', async () => {
    let up = false;
    const { call } = await start({ redis: () => (up ? fine() : refused()) });
    expect((await call('/api/health')).status).toBe(503);
    up = true;
    await vi.waitUntil(async () => (await call('/api/health')).status === 200, { timeout: 3_000 });
  });
  test('refuses an unknown probe', async () => {
    const { call } = await start({});
    expect((await call('/api/health?probe=dead')).status).toBe(400);
  });
});

describe('GET /api/latency', () => {
  test('gives dependencies, routes, queues and ingest', async () => {
    const { call } = await start({});
    await call('/api/health');
    const report = (await call('/api/latency')).json();
    expect(Date.parse(report.now)).toBeGreaterThan(0);
    for (const name of ['postgres', 'clickhouse', 'redis']) {
      expect(report.dependencies[name]).toEqual({
        p50_ms: expect.any(Number),
        p95_ms: expect.any(Number),
        last_ms: expect.any(Number),
      });
    }
    expect(report.routes).toEqual([
      {
        route: 'GET /api/health',
        count: 1,
        p50_ms: expect.any(Number),
        p95_ms: expect.any(Number),
        p99_ms: expect.any(Number),
      },
    ]);
    expect(report.queues).toEqual([{ name: 'ingestion', waiting: 3, active: 1, failed: 0, oldest_age_ms: 12 }]);
    expect(report.ingest).toEqual({ ack_p99_ms: 4, freshness_p95_ms: null });
    expect(report.unavailable).toEqual([]);
  });
  test('answers while the queue is away and says what it could not ask', async () => {
    const away = async () => {
      throw new Error('away');
    };
    const { call } = await start({}, { queueStats: away, ingestStats: away });
    const answer = await call('/api/latency');
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ queues: [], unavailable: ['queues', 'ingest'] });
  });
  test('has quantiles of a dependency nobody asked about once the probe runs by itself', async () => {
    const { call, probes } = await start({});
    probes.postgres.start(60_000);
    await vi.waitUntil(() => probes.postgres.latency().count > 0);
    probes.postgres.stop();
    expect((await call('/api/latency')).json().dependencies.postgres.p95_ms).toEqual(expect.any(Number));
  });
});

describe('GET /metrics', () => {
  test('is for the operator only', async () => {
    const { call } = await start({});
    expect((await call('/metrics')).status).toBe(401);
    const answer = await call('/metrics', { 'x-admin-key': 'admin' });
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=/);
    expect(answer.text).toMatch(/nodejs_eventloop_lag_p99_seconds\{process="api"\}/);
  });
});

describe('GET /api/openapi.json', () => {
  test('is open and describes itself', async () => {
    const { call } = await start({});
    const document = (await call('/api/openapi.json')).json();
    expect(document.openapi).toBe('3.1.0');
    expect(document.paths['/api/openapi.json'].get.operationId).toBe('getOpenapi');
    expect(document.paths['/metrics'].get.security).toEqual([{ adminKey: [] }]);
  });
});

describe('a dependency is silent', () => {
  /** Whether it is after each of `checks` checks. */
  async function silentAfterEach(checks: readonly Check[]): Promise<boolean[]> {
    vi.useFakeTimers();
    const left = [...checks];
    const probe = createProbe({ check: () => (left.shift() ?? fine)(), timeoutMs: 50 });
    const silent: boolean[] = [];
    for (const _ of checks) {
      const reading = probe.read();
      await vi.advanceTimersByTimeAsync(50);
      await reading;
      silent.push(probe.isSilent);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    return silent;
  }

  test('also while all connections of its pool wait for an answer', async () => {
    const message = 'Knex: Timeout acquiring a connection. The pool is probably full.';
    const timeout = Object.assign(new Error(message), { name: 'KnexTimeoutError' });
    const full: Check = async () => Promise.reject(postgresAway(timeout));
    expect(await silentAfterEach([frozen, frozen, full, frozen])).toEqual([false, false, true, true]);
  });

  test('after three checks without an answer, until one is answered', async () => {
    expect(await silentAfterEach([frozen, frozen, frozen, frozen, fine])).toEqual([false, false, true, true, false]);
  });

  test('not while it refuses, since those who ask it learn that at once', async () => {
    expect(await silentAfterEach([refused, refused, refused, refused])).toEqual([false, false, false, false]);
    expect(await silentAfterEach([frozen, frozen, refused, frozen])).toEqual([false, false, false, false]);
  });
});

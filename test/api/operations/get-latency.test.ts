import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LatencyReport } from '../../../src/domains/operations/operations.schema.ts';
import { newProject, startApi, type TestApi } from '../../support/api.ts';
import { aSpan } from '../../support/spans.ts';
import { sendSpans, untilStored } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe('200', () => {
  test('it tells of dependencies, the routes used, the queue and how fresh spans are', async () => {
    const project = await newProject(api);
    const span = aSpan();
    await sendSpans(api, project.key, [span]);
    await untilStored(api, project, span.traceId);

    const report = await until('the worker has told its figures', 30_000, async () => {
      const { body } = await api.call<LatencyReport>('getLatency');
      return body.ingest.freshness_p95_ms !== null && body.ingest.ack_p99_ms !== null && body;
    });
    expect(Math.abs(Date.parse(report.now) - Date.now())).toBeLessThan(10_000);
    for (const dependency of ['postgres', 'clickhouse', 'redis'] as const) {
      expect(report.dependencies[dependency].p50_ms).toBeGreaterThan(0);
    }
    const ingest = report.routes.find(({ route }) => route === 'POST /api/v1/traces');
    expect(ingest).toMatchObject({ count: 1, p50_ms: expect.any(Number), p99_ms: expect.any(Number) });
    expect(report.queues).toMatchObject([
      { name: 'ingest', waiting: expect.any(Number), failed: 0 },
      { name: 'ingest-large', failed: 0 },
      { name: 'ingest-isolation', failed: 0 },
      { name: 'identity' },
      { name: 'optimization' },
    ]);
    expect(report.unavailable).toEqual([]);
  });
});

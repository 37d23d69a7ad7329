import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, startApi, type TestApi } from '../../support/api.ts';
import { until } from '../../support/until.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe('200', () => {
  test('the operator gets Prometheus text with the requests so far', async () => {
    await newProject(api);
    const { status, text, headers } = await api.call('getMetrics', { adminKey: api.config.adminApiKey });
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    expect(text).toMatch(/^http_request_duration_seconds_count\{.*operation="createProject".*status="201".*\} 1$/m);
    expect(text).toContain('process_cpu_seconds_total');
  });
});

describe('what decides about more workers and more memory', () => {
  test('is exported: the age of the queues, what workers store and how late, and the memory for bodies', async () => {
    const text = await until('a worker has reported', 30_000, async () => {
      const answer = await api.call('getMetrics', { adminKey: api.config.adminApiKey });
      return answer.text.includes('worker_spans_stored_total{') && answer.text;
    });
    const sample = (name: string) => Number(new RegExp(`^${name}.*\\} (\\S+)$`, 'm').exec(text)?.[1]);
    expect(sample('worker_spans_stored_total\\{worker="[^"]+:\\d+"')).toBeGreaterThanOrEqual(0);
    expect(sample('ingest_memory_bytes\\{of="all"')).toBeGreaterThan(1024 ** 2);
    expect(sample('ingest_memory_bytes\\{of="left"')).toBeGreaterThan(0);
    expect(sample('queue_oldest_age_seconds\\{queue="ingest"')).toBeGreaterThanOrEqual(0);
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await api.call('getMetrics'), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('an API key is not enough', async () => {
    const { key } = await newProject(api);
    expectProblem(await api.call('getMetrics', { key }), 403, 'admin_required');
  });
});

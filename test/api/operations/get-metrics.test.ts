import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, startApi, type TestApi } from '../../support/api.ts';

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

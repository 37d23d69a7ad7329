import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HealthReport } from '../../../src/domains/operations/operations.schema.ts';
import { expectProblem, newProject, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe('200', () => {
  test('a process that has just started is ok, with every dependency', async () => {
    const fresh = await startApi();
    const { status, body } = await fresh.call<HealthReport>('getHealth');
    await fresh.close();
    expect([status, body]).toEqual([
      200,
      {
        status: 'ok',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        uptime_s: expect.any(Number),
        checks: Object.fromEntries(
          ['postgres', 'clickhouse', 'redis', 'queue'].map((name) => [
            name,
            { status: 'ok', latency_ms: expect.any(Number) },
          ]),
        ),
      },
    ]);
  });

  test('a liveness probe checks nothing', async () => {
    const { body } = await api.call<HealthReport>('getHealth', { query: { probe: 'live' } });
    expect([body.status, body.checks]).toEqual(['ok', {}]);
  });

  test('HEAD is answered like GET, without a body', async () => {
    const response = await fetch(`${api.url}/api/health`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });
});

describe('400', () => {
  test('another probe is refused', async () => {
    expectProblem(await api.call('getHealth', { query: { probe: 'deep' } }), 400, 'invalid_parameter');
  });
});

// A port on which nobody listens: 9 is the discard service, which no machine of ours runs.
const nowhere = '127.0.0.1:9';

describe('without ClickHouse', () => {
  test('it is degraded but 200, for spans are still taken', async () => {
    const lame = await startApi({ clickhouseUrl: `http://${nowhere}` });
    const { status, body } = await lame.call<HealthReport>('getHealth');
    await lame.close();
    expect([status, body.status, body.checks.clickhouse?.status, body.checks.redis?.status]).toEqual([
      200,
      'degraded',
      'down',
      'ok',
    ]);
  });
});

describe('with a Postgres that is read-only', () => {
  test('it is degraded and says so, what is stored is served, and a change is 503', async () => {
    const { key, id } = await newProject(api);
    const url = new URL(api.config.databaseUrl);
    url.searchParams.set('options', '-c default_transaction_read_only=on');
    const { apiKeyPepper } = api.config;
    const lame = await startApi({ databaseUrl: url.href, apiKeyPepper, logLevel: 'silent' });
    const health = await lame.call<HealthReport>('getHealth');
    const params = { project_id: id };
    const read = await lame.call('listPrompts', { key, params });
    const body = { name: 'p', type: 'text', template: 'Hello' };
    const change = await lame.call('createPrompt', { key, params, body });
    await lame.close();
    expect([health.status, health.body.status]).toEqual([200, 'degraded']);
    expect(health.body.checks.postgres).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/read-only/),
    });
    expect(read.status).toBe(200);
    expectProblem(change, 503, 'postgres_unavailable');
    expect(change.headers.get('retry-after')).toBe('5');
  });
});

describe('503', () => {
  test('with a Postgres without the tables of this service it is down and says what to do', async () => {
    const url = new URL(api.config.databaseUrl);
    url.searchParams.set('options', '-c search_path=none');
    const lame = await startApi({ databaseUrl: url.href, logLevel: 'silent' });
    const health = await lame.call<HealthReport>('getHealth');
    await lame.close();
    expect([health.status, health.body.status]).toEqual([503, 'down']);
    expect(health.body.checks.postgres).toMatchObject({ status: 'down', reason: expect.stringMatching(/migrations/) });
  });

  test.each([
    ['postgres', { databaseUrl: `postgres://u:hidden-password@${nowhere}/db` }],
    ['redis', { redisUrl: `redis://:hidden-password@${nowhere}` }],
  ] as const)('without %s it is down and says which, but no secrets', async (name, config) => {
    const lame = await startApi({ ...config, logLevel: 'silent' });
    const { status, body, headers, text } = await lame.call<HealthReport>('getHealth');
    await lame.close();
    expect([status, body.status, body.checks[name]?.status]).toEqual([503, 'down', 'down']);
    expect(headers.get('retry-after')).toBe('1');
    expect(text).not.toMatch(/hidden-password|127\.0\.0\.1/);
  });
});

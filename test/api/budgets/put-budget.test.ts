import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { expectProblem, newKey, newProject, startApi, type TestApi } from '../../support/api.ts';
import { aBudget, getBudget, putBudget } from '../../support/budgets.ts';
import { startClickHouseProxy } from '../../support/clickhouse-proxy.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const manyThresholds = (scopes: number, thresholds: number) => ({
  scopes: Array.from({ length: scopes }, (_, index) => ({ by: 'user', value: `u${index}`, amount: '1' })),
  thresholds: Array.from({ length: thresholds }, (_, index) => (index + 1) / 100),
});

describe('200', () => {
  test('replaces everything with a new version, and the audit log has it', async () => {
    const project = await newProject(api);
    const first = await putBudget(api, project, { ...aBudget, period: 'weekly', enforcement: 'block_render' });
    expect(first.status, first.text).toBe(200);
    expect(first.body).toMatchObject({ amount: '10.000000', version: 1, thresholds: [0.5, 0.8, 1], enabled: true });
    const { body, headers } = await putBudget(api, project, { ...aBudget, thresholds: [1, 0.2] });
    expect(body).toMatchObject({ version: 2, period: 'monthly', enforcement: 'none', thresholds: [0.2, 1] });
    const read = await getBudget(api, project);
    expect(read.headers.get('etag')).toBe(headers.get('etag'));
    const log = await api.postgres('audit_log').where('project_id', project.id).select('action');
    expect(log.filter(({ action }) => action === 'budget.replaced')).toHaveLength(2);
  });

  test('a budget may have 20 thresholds, and 50 scopes with five', async () => {
    const project = await newProject(api);
    for (const given of [manyThresholds(0, 20), manyThresholds(50, 5)]) {
      const { status, text } = await putBudget(api, project, { ...aBudget, ...given });
      expect(status, text).toBe(200);
    }
  });

  test('a budget without periods has none', async () => {
    const { body } = await putBudget(api, await newProject(api), { ...aBudget, period: 'total' });
    expect(body).toMatchObject({ period_start: null, period_end: null, resets_at: null });
  });
});

describe('204', () => {
  test('DELETE removes the budget, also one that does not exist', async () => {
    const project = await newProject(api);
    await putBudget(api, project, aBudget);
    const options = { params: { project_id: project.id }, key: project.key };
    expect((await api.call('deleteBudget', options)).status).toBe(204);
    expect((await api.call('deleteBudget', options)).status).toBe(204);
    expect((await getBudget(api, project)).body.amount).toBeNull();
  });
});

describe('400', () => {
  test('an unknown field', async () => {
    expectProblem(await putBudget(api, await newProject(api), { ...aBudget, limit: 1 }), 400, 'unknown_field');
  });
});

describe('403', () => {
  test('a key needs budgets:write', async () => {
    const project = await newProject(api);
    const { key } = await newKey(api, project.id, { scopes: ['budgets:read'] });
    expectProblem(await putBudget(api, { ...project, key }, aBudget), 403, 'insufficient_scope');
  });
});

describe('503', () => {
  test('while the spend cannot be read, nothing is stored', async () => {
    const proxy = await startClickHouseProxy(inject('serviceClickhouseUrl'));
    const far = await startApi({ clickhouseUrl: proxy.url, clickhouseShardUrls: [proxy.url] });
    onTestFinished(async () => {
      await far.close();
      await proxy.close();
    });
    const project = await newProject(far);
    await putBudget(far, project, aBudget);
    proxy.refuse(`param_projectId=${project.id}`);
    expectProblem(await putBudget(far, project, { ...aBudget, amount: '7' }), 503, 'clickhouse_unavailable');
    proxy.refuse('nothing more');
    expect((await getBudget(far, project)).body).toMatchObject({ amount: '10.000000', version: 1 });
  });
});

describe('412', () => {
  test('If-Match of an older version, or of none', async () => {
    const project = await newProject(api);
    expectProblem(await putBudget(api, project, aBudget, { 'If-Match': '*' }), 412, 'precondition_failed');
    const etag = (await putBudget(api, project, aBudget)).headers.get('etag') ?? '';
    expect((await putBudget(api, project, aBudget, { 'If-Match': etag })).status).toBe(200);
    expectProblem(await putBudget(api, project, aBudget, { 'If-Match': etag }), 412, 'precondition_failed');
  });
});

describe('422', () => {
  test.each([
    ['a number as amount', { amount: 10 }],
    ['an amount of 0', { amount: '0' }],
    ['a negative amount', { amount: '-1' }],
    ['too many decimals', { amount: '0.0000000001' }],
    ['another currency', { currency: 'EUR' }],
    ['an unknown period', { period: 'yearly' }],
    ['an unknown time zone', { timezone: 'Mars/Olympus' }],
    ['a threshold of 0', { thresholds: [0] }],
    ['a threshold twice', { thresholds: [1, 1] }],
    ['a scope twice', { scopes: [0, 1].map(() => ({ by: 'model', value: 'm', amount: '1' })) }],
    ['51 scopes', { scopes: Array.from({ length: 51 }, (_, n) => ({ by: 'user', value: `u${n}`, amount: '1' })) }],
    ['more than 300 thresholds with those of the scopes', manyThresholds(50, 6)],
    ['an unknown webhook', { notify: { webhook_ids: ['whk_nobody'] } }],
  ])('%s', async (_what, change) => {
    expectProblem(await putBudget(api, await newProject(api), { ...aBudget, ...change }), 422, 'invalid_body');
  });
});

test("another project's webhook is refused as one that does not exist, the project's own is kept", async () => {
  const [own, other] = [await newProject(api), await newProject(api)];
  const body = { url: 'https://example.com/hook', events: ['budget.threshold_reached'], enabled: false };
  const { body: hook } = await api.call<{ id: string }>('createWebhook', {
    ...{ params: { project_id: other.id }, key: other.key, body },
  });
  const notify = { webhook_ids: [hook.id] };
  expectProblem(await putBudget(api, own, { ...aBudget, notify }), 422, 'invalid_body');
  expect((await putBudget(api, other, { ...aBudget, notify })).body.notify).toEqual(notify);
});

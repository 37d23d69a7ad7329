import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { BudgetGuard } from '../../src/domains/budgets/budget-guard.ts';
import { type BudgetToCheck, enabledBudgets, noteChecked } from '../../src/domains/budgets/budget-store.ts';
import { checkBudgets } from '../../src/domains/budgets/check-budgets.ts';
import { reserveBudget } from '../../src/domains/budgets/reserve-budget.ts';
import { readSpend } from '../../src/domains/budgets/spend-queries.ts';
import { recordQuotaThresholds } from '../../src/domains/quotas/record-quota-thresholds.ts';
import { monthOf } from '../../src/domains/quotas/usage.ts';
import { newId } from '../../src/lib/ids.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { usageKey } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { quotaReached } from '../../workers/processors.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { aBudget, getBudget, guardOf, pricedCall, putBudget } from '../support/budgets.ts';
import { startClickHouseProxy } from '../support/clickhouse-proxy.ts';
import { limitedProject } from '../support/limits.ts';
import { storeRatedCalls } from '../support/stored-calls.ts';
import { sendSpans } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let redis: Redis;
let clickhouse: ClickHouse;
let pools: Postgres[];
const logger = createLogger({ level: 'silent', name: 'test' });
beforeAll(async () => {
  api = await startApi();
  redis = connectWorkerRedis(inject('redisUrl'));
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  pools = [1, 2].map(() => connectPostgres(inject('databaseUrl'), 4));
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([clickhouse.close(), ...pools.map((pool) => pool.destroy()), api.close()]);
});

const eventsOf = (project: ProjectOfTest) =>
  api
    .postgres('events')
    .where({ project_id: project.id, type: 'budget.threshold_reached' })
    .select('data', 'webhook_ids');

async function spend(project: ProjectOfTest, nano: bigint, usd: string): Promise<void> {
  await sendSpans(api, project.key, [pricedCall(nano)]);
  await until('the spend', 30_000, async () => (await getBudget(api, project)).body.spend === usd);
}

test('a threshold fires once under 20 concurrent checks, and again for a new version', async () => {
  const project = await newProject(api);
  await putBudget(api, project, {
    ...aBudget,
    amount: '1',
    scopes: [{ by: 'model', value: 'house-model', amount: '0.5' }],
  });
  await spend(project, 850_000_000n, '0.850000');
  const check = (index: number) =>
    checkBudgets({ postgres: pools[index % 2] as Postgres, clickhouse, redis, logger }, { nowMs: Date.now() });
  await Promise.all(Array.from({ length: 20 }, (_, index) => check(index)));
  const fired = (await eventsOf(project)).map(({ data }) => [data.threshold, data.scope?.by ?? null]);
  expect(fired.toSorted()).toEqual(
    [
      [0.5, null],
      [0.5, 'model'],
      [0.8, null],
      [0.8, 'model'],
      [1, 'model'],
    ].toSorted(),
  );
  expect((await getBudget(api, project)).body).toMatchObject({ state: 'warning', alerts: { length: 5 } });
  await putBudget(api, project, { ...aBudget, amount: '1', thresholds: [0.5] });
  await check(0);
  expect(await eventsOf(project)).toHaveLength(6);
});

test('many thresholds are stored with few statements, and those of older versions are deleted', async () => {
  const project = await newProject(api);
  const thresholds = Array.from({ length: 20 }, (_, index) => (index + 1) / 100);
  const scopes = Array.from({ length: 14 }, (_, index) => ({
    ...{ by: 'model', value: `house-model-${index}`, amount: '0.5' },
  }));
  const budget = { ...aBudget, amount: '1', thresholds, scopes };
  await putBudget(api, project, budget);
  await sendSpans(
    api,
    project.key,
    scopes.map(({ value }) => pricedCall(100_000_000n, { model: value })),
  );
  await until('the spend', 30_000, async () => (await getBudget(api, project)).body.spend === '1.400000');
  const [postgres] = pools as [Postgres];
  const statements: string[] = [];
  const listen = ({ sql, bindings }: { sql: string; bindings: unknown[] }) => {
    if (sql.includes('budget_alerts') && bindings.includes(project.id)) statements.push(sql);
  };
  postgres.on('query', listen);
  const check = () => checkBudgets({ postgres, clickhouse, redis, logger }, { nowMs: Date.now() });
  await check();
  postgres.off('query', listen);
  expect(statements).toHaveLength(2);
  expect(await eventsOf(project)).toHaveLength(15 * 20);
  await check();
  expect(await eventsOf(project)).toHaveLength(15 * 20);
  const { body } = await putBudget(api, project, { ...budget, thresholds: [0.5] });
  await check();
  const kept = await api.postgres('budget_alerts').where('project_id', project.id).select('budget_version', 'scope');
  expect(kept).toEqual([{ budget_version: body.version, scope: '' }]);
});

test('a threshold that was reached after the last check of a period fires after its end, for that period', async () => {
  const project = await newProject(api);
  const daily = { ...aBudget, amount: '1', period: 'daily' };
  const { body } = await putBudget(api, project, daily);
  const endMs = Date.parse(body.period_end ?? '');
  const check = (nowMs: number) => checkBudgets({ postgres: api.postgres, clickhouse, redis, logger }, { nowMs });
  await check(endMs - 60_000);
  await spend(project, 600_000_000n, '0.600000');
  // A new version is checked without looking for new spans, whose times are not those of this test.
  await putBudget(api, project, daily);
  await check(endMs + 5_000);
  const fired = await eventsOf(project);
  expect(fired.map(({ data }) => [data.threshold, data.period_end])).toEqual([[0.5, body.period_end]]);
});

test('a threshold that late spans reach fires once for the period before, if the version was in force in it', async () => {
  const project = await newProject(api);
  const { body } = await putBudget(api, project, { ...aBudget, amount: '1', period: 'daily' });
  const beganAtMs = Date.parse(body.period_start ?? '');
  const check = () => checkBudgets({ postgres: api.postgres, clickhouse, redis, logger }, { nowMs: Date.now() });
  await check();
  const lateNano = BigInt(beganAtMs - 3_600_000) * 1_000_000n;
  await sendSpans(api, project.key, [pricedCall(600_000_000n, { startUnixNano: lateNano, endUnixNano: lateNano })]);
  const before = { startMs: beganAtMs - 86_400_000, endMs: beganAtMs };
  const spendBefore = () => readSpend(clickhouse, { projectId: project.id, period: before, scopes: [] });
  await until('the late spend', 30_000, async () => (await spendBefore()).total === 600_000_000n);
  await check();
  expect(await eventsOf(project)).toEqual([]);
  // The version was stored two days ago, and was checked ever since.
  const updatedAt = new Date(beganAtMs - 86_400_000);
  await api.postgres('budgets').where('project_id', project.id).update({ updated_at: updatedAt });
  await check();
  await spend(project, 500_000_000n, '0.500000');
  await check();
  await check();
  const fired = (await eventsOf(project)).map(({ data }) => [data.threshold, data.spend, data.period_end]);
  expect(fired.toSorted()).toEqual(
    [
      [0.5, '0.600000', body.period_start],
      [0.5, '0.500000', body.period_end],
    ].toSorted(),
  );
});

test('a version does not look back to a period that had ended before it was stored', async () => {
  const project = await newProject(api);
  const { body } = await putBudget(api, project, { ...aBudget, amount: '100', period: 'daily' });
  const endMs = Date.parse(body.period_end ?? '');
  const check = (nowMs: number) => checkBudgets({ postgres: api.postgres, clickhouse, redis, logger }, { nowMs });
  await check(endMs - 10_000);
  await spend(project, 600_000_000n, '0.600000');
  await putBudget(api, project, { ...aBudget, amount: '1', period: 'daily' });
  const storedAt = new Date(endMs + 2_000);
  await api.postgres('budgets').where('project_id', project.id).update({ updated_at: storedAt });
  await check(endMs + 5_000);
  expect(await eventsOf(project)).toEqual([]);
});

test('a budget that was deleted and created again while it was checked is not checked', async () => {
  const project = await newProject(api);
  const options = { params: { project_id: project.id }, key: project.key };
  await putBudget(api, project, aBudget);
  const own: BudgetToCheck[] = [];
  for await (const page of enabledBudgets(api.postgres, 200)) {
    own.push(...page.filter(({ projectId }) => projectId === project.id));
  }
  await api.call('deleteBudget', options);
  await putBudget(api, project, { ...aBudget, amount: '1' });
  await noteChecked(api.postgres, own, new Date());
  const stored = api.postgres('budgets').where('project_id', project.id);
  expect([own.length, await stored.first('version', 'checked_version')]).toEqual([
    1,
    { version: 1, checked_version: null },
  ]);
});

test('budgets of a workspace that take long are checked for seconds only, and do not delay those of others', async () => {
  const project = await newProject(api);
  await putBudget(api, project, { ...aBudget, amount: '1' });
  await spend(project, 600_000_000n, '0.600000');
  const slow = await newProject(api);
  const params = { workspace_id: slow.workspaceId };
  const ids: string[] = [];
  for (let nth = 0; nth < 20; nth++) {
    const { id } = await api.admin<{ id: string }>('createProject', { params, body: { name: `slow ${nth}` } }, 201);
    await api.admin('putBudget', { params: { project_id: id }, body: aBudget }, 200);
    ids.push(id);
  }
  const proxy = await startClickHouseProxy(inject('clickhouseUrl'));
  proxy.holdBack(ids.map((id) => `param_projectId=${id}`));
  const slowly = connectClickHouse(proxy.url, { requestTimeoutMs: 2_000 });
  const beganAtMs = performance.now();
  // After so long a time, each budget is checked, also those that a worker has checked meanwhile.
  const nowMs = Date.now() + 11 * 60_000;
  await checkBudgets({ postgres: api.postgres, clickhouse: slowly, redis, logger }, { nowMs });
  // 20 of 2 s each, at most two at once, would take 20 s.
  expect(performance.now() - beganAtMs).toBeLessThan(15_000);
  expect(await eventsOf(project)).toHaveLength(1);
  await Promise.all([slowly.close(), proxy.close()]);
});

test('a render is 402 while the budget is exceeded, and works after the amount was raised', async () => {
  const project = await newProject(api);
  const params = { project_id: project.id };
  const body = { name: 'greeting', type: 'text', template: 'hello', config: { model: 'house-model' } };
  const { body: prompt } = await api.call<{ id: string }>('createPrompt', { params, key: project.key, body });
  const render = () =>
    api.call('renderPrompt', { params: { ...params, prompt_id: prompt.id }, key: project.key, body: {} });
  expect((await render()).status).toBe(200);
  await putBudget(api, project, { ...aBudget, amount: '1' });
  await spend(project, 1_000_000_000n, '1.000000');
  expect((await render()).status).toBe(200);
  await putBudget(api, project, { ...aBudget, amount: '1', enforcement: 'block_render' });
  const refused = await render();
  expect(refused.status, refused.text).toBe(402);
  expect(refused.body).toMatchObject({ code: 'budget_exceeded', spend: '1.000000', amount: '1.000000' });
  const scopes = [{ by: 'model', value: 'house-model', amount: '0.5' }];
  await putBudget(api, project, { ...aBudget, amount: '2', enforcement: 'block_render', scopes });
  expect((await render()).status).toBe(402);
  await putBudget(api, project, { ...aBudget, amount: '2', enforcement: 'block_render' });
  expect((await render()).status).toBe(200);
});

test('50 concurrent reservations never exceed the amount', async () => {
  const project = await newProject(api);
  await putBudget(api, project, { ...aBudget, amount: '1', enforcement: 'block_optimize' });
  const expiresAt = new Date(Date.now() + 60_000);
  // One process reads the budgets of a workspace one after the other, and lets 16 wait.
  const guards = Array.from({ length: 5 }, () => guardOf({ postgres: pools[0] as Postgres, clickhouse }));
  const reserve = (index: number) =>
    reserveBudget(
      { postgres: pools[index % 2] as Postgres, budgets: guards[index % 5] as BudgetGuard },
      { projectId: project.id, prompt: [], models: [], amountNanoUsd: 100_000_000n, expiresAt },
    );
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, (_, index) => reserve(index)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  expect((await getBudget(api, project)).body).toMatchObject({ reserved: '1.000000', remaining: '0.000000' });
});

test('fifty scopes of a budget with very many calls take little longer than none', async () => {
  const project = await newProject(api);
  const promptId = newId('prm');
  await storeRatedCalls({ clickhouse, postgres: api.postgres }, project, { promptId, traces: 2_000, calls: 100 });
  const nowMs = Date.now();
  const read = async (scopes: Parameters<typeof readSpend>[1]['scopes']) => {
    const beganAtMs = performance.now();
    const period = { startMs: nowMs - 3_600_000, endMs: nowMs };
    const spend = await readSpend(clickhouse, { projectId: project.id, period, scopes });
    return { spend, tookMs: performance.now() - beganAtMs };
  };
  const models = Array.from({ length: 48 }, (_, index) => ({ by: 'model' as const, value: `m-${index}` }));
  const scopes = [
    { by: 'model', value: 'm' } as const,
    { by: 'prompt', value: promptId, prompt: { id: promptId, names: [], keys: [] } } as const,
    ...models,
  ];
  await read(scopes);
  const [none, fifty] = [await read([]), await read(scopes)];
  expect(none.spend.total).toBe(200_000_000n);
  expect(fifty.spend.scopes).toEqual([200_000_000n, 200_000_000n, ...models.map(() => 0n)]);
  // One array of the costs of all scopes for each call took forty times as long as none.
  expect(fifty.tookMs).toBeLessThan(10 * Math.max(none.tookMs, 40));
});

test('a threshold of a quota is recorded once', async () => {
  const project = await limitedProject(api, { quotas: { spans: 10 } });
  const month = monthOf(Date.now());
  await redis.hset(usageKey(project.workspaceId, 'spans', month), 'total', 9);
  await Promise.all(
    pools.map((postgres) => recordQuotaThresholds({ redis, postgres, quotaReached }, [project.workspaceId], month)),
  );
  const events = await api
    .postgres('events')
    .where({ workspace_id: project.workspaceId, type: 'quota.threshold_reached' });
  expect(events.map(({ data }) => data)).toMatchObject([{ threshold: 0.8, used: 9, limit: 10, resource: 'spans' }]);
});

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { keepReservation, reserveBudget } from '../../src/domains/budgets/reserve-budget.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectPostgres, type Postgres, type Transaction } from '../../src/stores/postgres/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { aBudget, getBudget, guardOf, pricedCall, putBudget } from '../support/budgets.ts';
import { sendSpans } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let clickhouse: ClickHouse;
let postgres: Postgres;
beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  postgres = connectPostgres(inject('databaseUrl'), 4);
});
afterAll(async () => {
  await Promise.all([clickhouse.close(), postgres.destroy(), api.close()]);
});

const dayMs = 86_400_000;
const blocking = { ...aBudget, enforcement: 'block_optimize' };

/** A project that spent 0.40 USD now and 0.50 USD 40 days ago. */
async function spentProject(): Promise<ProjectOfTest> {
  const project = await newProject(api);
  const longAgo = BigInt(Date.now() - 40 * dayMs) * 1_000_000n;
  const before = { startUnixNano: longAgo, endUnixNano: longAgo + 1_000_000n };
  await sendSpans(api, project.key, [pricedCall(400_000_000n), pricedCall(500_000_000n, before)]);
  await putBudget(api, project, { ...aBudget, period: 'total' });
  await until('the spend', 30_000, async () => (await getBudget(api, project)).body.spend === '0.900000');
  await deleteBudget(project);
  return project;
}

const deleteBudget = (project: ProjectOfTest) =>
  api.call('deleteBudget', { params: { project_id: project.id }, key: project.key });

const support = ['prm_support', 'support', 'Support'];

const reserve = (project: ProjectOfTest, amountNanoUsd: bigint, engine = clickhouse, models = ['house-model']) =>
  reserveBudget(
    { postgres, budgets: guardOf({ postgres, clickhouse: engine }) },
    { projectId: project.id, prompt: support, models, amountNanoUsd, expiresAt: new Date(Date.now() + 60_000) },
  );

const reservedFor = async (project: ProjectOfTest) => (await getBudget(api, project)).body.reserved;

/** A client that first does something before each read of the spend, and counts the reads. */
function beforeEachRead(act: (read: number) => Promise<unknown>) {
  const counts = { reads: 0 };
  const exec: ClickHouse['exec'] = async (params) => {
    await act(counts.reads++);
    return clickhouse.exec(params);
  };
  return { client: Object.assign(Object.create(clickhouse) as ClickHouse, { exec }), counts };
}

/** Changes the budget in a transaction that commits while the reservation waits for its lock. */
async function changedBeforeLock(
  project: ProjectOfTest,
  amount: bigint,
  change: (own: Transaction) => Promise<unknown>,
) {
  const own = await postgres.transaction();
  await own('projects').where({ id: project.id }).forNoKeyUpdate().first('id');
  const { rows } = await own.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid');
  const outcome = reserve(project, amount).then(
    (reserved) => reserved,
    (error: unknown) => ({ error }),
  );
  await until('the reservation waits for the lock', 10_000, async () => {
    const found = await api.postgres.raw<{ rows: unknown[] }>(
      'select 1 from pg_stat_activity where ? = any(pg_blocking_pids(pid))',
      [rows[0]?.pid ?? 0],
    );
    return found.rows.length > 0;
  });
  await change(own);
  await own.commit();
  return outcome;
}

function insertBudget(transaction: Transaction, project: ProjectOfTest, amountNanoUsd: bigint): Promise<unknown> {
  return transaction('budgets').insert({
    ...{
      project_id: project.id,
      workspace_id: project.workspaceId,
      version: 1,
      amount_nano_usd: String(amountNanoUsd),
    },
    ...{ period: 'total', timezone: 'UTC', thresholds: [1], enforcement: 'block_optimize', scopes: '[]' },
    ...{ webhook_ids: null, enabled: true, updated_at: new Date() },
  });
}

test('a budget that is created after the reservation found none refuses it by its own spend', async () => {
  const project = await spentProject();
  const outcome = await changedBeforeLock(project, 200_000_000n, (own) => insertBudget(own, project, 1_000_000_000n));
  expect(outcome).toMatchObject({
    error: { code: 'budget_exceeded', extra: { spend: '0.900000', amount: '1.000000' } },
  });
  expect(await reservedFor(project)).toBe('0.000000');
});

test('a budget that is created after the reservation found none, and has enough left, records it', async () => {
  const project = await spentProject();
  const outcome = await changedBeforeLock(project, 100_000_000n, (own) => insertBudget(own, project, 1_000_000_000n));
  expect(outcome).toEqual({ id: expect.any(String), isBlocking: true });
  expect(await reservedFor(project)).toBe('0.100000');
});

test('a budget that is deleted before the lock refuses nothing any more', async () => {
  const project = await spentProject();
  await putBudget(api, project, { ...blocking, amount: '0.5' });
  const outcome = await changedBeforeLock(project, 200_000_000n, (own) =>
    own('budgets').where('project_id', project.id).delete(),
  );
  expect(outcome).toEqual({ id: expect.any(String), isBlocking: false });
});

test('a budget whose period is replaced while its spend is read is checked with the spend of the new period', async () => {
  const project = await spentProject();
  await putBudget(api, project, { ...blocking, amount: '1', period: 'daily' });
  const { client, counts } = beforeEachRead(async (read) => {
    if (read === 0) await putBudget(api, project, { ...blocking, amount: '1', period: 'total' });
  });
  await expect(reserve(project, 200_000_000n, client)).rejects.toMatchObject({
    ...{ code: 'budget_exceeded', extra: { spend: '0.900000', amount: '1.000000', resets_at: null } },
  });
  expect(counts.reads).toBe(2);
  expect(await reservedFor(project)).toBe('0.000000');
});

test('a budget that changes while each of 5 reads is under way reserves nothing', async () => {
  const project = await spentProject();
  await putBudget(api, project, { ...blocking, amount: '100' });
  const { client, counts } = beforeEachRead((read) =>
    putBudget(api, project, { ...blocking, amount: String(101 + read) }),
  );
  await expect(reserve(project, 1n, client)).rejects.toMatchObject({
    code: 'version_conflict',
  });
  expect(counts.reads).toBe(5);
  expect(await reservedFor(project)).toBe('0.000000');
});

test('a budget that blocks nothing is not asked for its spend, and records the reservation', async () => {
  const project = await spentProject();
  await putBudget(api, project, { ...aBudget, amount: '0.1', period: 'total' });
  const { client, counts } = beforeEachRead(() => Promise.resolve());
  expect(await reserve(project, 200_000_000n, client)).toMatchObject({ isBlocking: false });
  expect(counts.reads).toBe(0);
  expect(await reservedFor(project)).toBe('0.200000');
});

/** Sets a budget with room, but for a scope that has little. */
const putScope = (project: ProjectOfTest, scope: { by: string; value: string; amount: string }) =>
  putBudget(api, project, { ...blocking, amount: '100', period: 'total', scopes: [scope] });

test('a scope of the model of a run that calls no other must have room for it', async () => {
  const project = await spentProject();
  await putScope(project, { by: 'model', value: 'house-model', amount: '1' });
  await expect(reserve(project, 200_000_000n)).rejects.toMatchObject({
    message: expect.stringContaining('the budget of model house-model has 0.100000 of 1.000000 USD left. Give'),
    code: 'budget_exceeded',
    extra: { spend: '0.900000', amount: '1.000000', needed: '0.200000', scope: { by: 'model', value: 'house-model' } },
  });
  expect(await reservedFor(project)).toBe('0.000000');
  expect(await reserve(project, 100_000_000n)).toMatchObject({ isBlocking: true });
  expect(await reserve(project, 200_000_000n, clickhouse, ['another'])).toMatchObject({ isBlocking: true });
});

test('a scope of one of several models of a run must not be used up', async () => {
  const project = await spentProject();
  const reserveForBoth = () => reserve(project, 200_000_000n, clickhouse, ['another', 'house-model']);
  await putScope(project, { by: 'model', value: 'house-model', amount: '1' });
  expect(await reserveForBoth()).toMatchObject({ isBlocking: true });
  await putScope(project, { by: 'model', value: 'house-model', amount: '0.9' });
  await expect(reserveForBoth()).rejects.toMatchObject({
    ...{ code: 'budget_exceeded', message: expect.stringContaining('The budget of model house-model is used up') },
  });
});

test.each(support)('a scope of the prompt, named %s, must have room for the run', async (value) => {
  const project = await newProject(api);
  await putScope(project, { by: 'prompt', value, amount: '1' });
  await expect(reserve(project, 1_100_000_000n)).rejects.toMatchObject({
    ...{ code: 'budget_exceeded', extra: { amount: '1.000000', scope: { by: 'prompt', value } } },
  });
  expect(await reserve(project, 1_000_000_000n)).toMatchObject({ isBlocking: true });
});

test('reservations of one workspace read the spend one after the other, beside that of another', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  for (const each of [project, other]) await putBudget(api, each, { ...blocking, amount: '1' });
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { client, counts } = beforeEachRead(() => released);
  const budgets = guardOf({ postgres, clickhouse: client });
  const expiresAt = new Date(Date.now() + 60_000);
  const reserveIn = ({ id }: ProjectOfTest) =>
    reserveBudget({ postgres, budgets }, { projectId: id, prompt: support, models: [], amountNanoUsd: 1n, expiresAt });
  const all = [project, project, project].map(reserveIn);
  await until('one is read', 10_000, () => counts.reads === 1);
  // By when the others have come as well.
  for (let n = 0; n < 5; n++) await getBudget(api, project);
  expect(counts.reads).toBe(1);
  all.push(reserveIn(other));
  await until('that of another workspace is read meanwhile', 10_000, () => counts.reads === 2);
  release();
  expect(await Promise.all(all)).toHaveLength(4);
  expect(counts.reads).toBe(4);
});

test('a reservation lasts until it is released once its run is stored, and ends soon without one', async () => {
  const project = await newProject(api);
  await putBudget(api, project, blocking);
  const { id } = await reserve(project, 1n);
  const rowOf = () => postgres('budget_reservations').where({ project_id: project.id, id });
  const ends = async () => (await rowOf().first('expires_at')).expires_at;
  expect((await ends()).getTime() - Date.now()).toBeLessThan(60_000);
  const keep = () => keepReservation(postgres, { projectId: project.id, id });
  await keep();
  expect(await ends()).toBe(Number.POSITIVE_INFINITY);
  await rowOf().update({ expires_at: new Date(0) });
  await expect(keep()).rejects.toMatchObject({ code: 'postgres_unavailable' });
});

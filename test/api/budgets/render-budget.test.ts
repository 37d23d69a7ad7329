import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { aBudget, putBudget } from '../../support/budgets.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { startProxy, type TestProxy } from '../../support/proxy.ts';

let postgres: PostgresProxy;
let clickhouse: TestProxy;
let api: TestApi;
beforeAll(async () => {
  postgres = await startPostgresProxy(inject('serviceDatabaseUrl'));
  clickhouse = await startProxy(inject('serviceClickhouseUrl'));
  api = await startApi({ databaseUrl: postgres.url, clickhouseUrl: clickhouse.url });
});
afterAll(async () => {
  await api.close();
  await Promise.all([postgres.close(), clickhouse.close()]);
});

const renders = 200;
/** A process that hears late of changes reads budgets this often. Otherwise it reads them every 30 s. */
const unheardReadMs = 800;

/** Renders a prompt many times. Returns how often the stores were asked for the budget or its spend. */
async function askedByRenders(project: ProjectOfTest) {
  const at = { params: { project_id: project.id }, key: project.key };
  const body = { name: 'greeting', type: 'text', template: 'Hello' };
  const { body: prompt } = await api.call<{ id: string }>('createPrompt', { ...at, body });
  const params = { ...at.params, prompt_id: prompt.id };
  const render = async () => (await api.call('renderPrompt', { ...at, params, body: {} })).status;
  expect(await render()).toBe(200);
  postgres.hold('"budgets"');
  postgres.release();
  const before = clickhouse.requests.length;
  const startedAtMs = performance.now();
  for (let round = 0; round < renders / 10; round++) {
    expect(new Set(await Promise.all(Array.from({ length: 10 }, render)))).toEqual(new Set([200]));
  }
  const elapsedMs = performance.now() - startedAtMs;
  const statements = clickhouse.requests.slice(before).map(({ url, body: text }) => decodeURIComponent(url) + text);
  return {
    budgets: postgres.asked(),
    // One read may be due within any time, however short.
    budgetsMax: Math.ceil(elapsedMs / unheardReadMs),
    spends: statements.filter((statement) => statement.includes(project.id)).length,
  };
}

test('renders of a project without a budget ask neither Postgres nor ClickHouse for it', async () => {
  const { budgets, budgetsMax, spends } = await askedByRenders(await newProject(api));
  expect(budgets).toBeLessThanOrEqual(budgetsMax);
  expect(budgetsMax).toBeLessThan(renders / 4);
  expect(spends).toBe(0);
});

test('renders of a project whose budget blocks no render ask neither', async () => {
  const project = await newProject(api);
  await putBudget(api, project, { ...aBudget, enforcement: 'block_optimize' });
  const { budgets, budgetsMax, spends } = await askedByRenders(project);
  expect(budgets).toBeLessThanOrEqual(budgetsMax);
  expect(spends).toBe(0);
});

test('renders of a project whose budget blocks them ask for the spend once in 30 s', async () => {
  const project = await newProject(api);
  await putBudget(api, project, { ...aBudget, enforcement: 'block_render' });
  const { budgets, budgetsMax, spends } = await askedByRenders(project);
  expect(budgets).toBeLessThanOrEqual(budgetsMax);
  expect(spends).toBeLessThanOrEqual(1);
  // The counting works: the first render after a new version asks both.
  postgres.hold('"budgets"');
  postgres.release();
  const before = clickhouse.requests.length;
  await putBudget(api, project, { ...aBudget, enforcement: 'block_render' });
  const params = { project_id: project.id, prompt_id: 'greeting' };
  await api.call('renderPrompt', { params, key: project.key, body: {} });
  expect(postgres.asked()).toBeGreaterThan(0);
  expect(clickhouse.requests.slice(before).some(({ url }) => url.includes(project.id))).toBe(true);
});

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { insertReservation } from '../../src/domains/budgets/budget-store.ts';
import { formatUsd, parseUsd } from '../../src/lib/money.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import {
  insertQueuedRun,
  type RunInput,
  type RunRef,
  readRun,
  untilCalls,
  untilEnded,
} from '../support/optimization-runs.ts';
import { noFaults } from '../support/simulated-model/faults.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const endMsMax = 120_000;

let stack: Stack;
let postgres: Postgres;
let model: SimulatedModel;
beforeAll(async () => {
  model = await startSimulatedModel();
  stack = await startStack({ env: { LLM_BASE_URL: model.url, LLM_API_KEY: 'key-of-the-test' } });
  postgres = connectPostgres(stack.engines.postgres.url, 4);
});
afterAll(async () => {
  await postgres?.destroy();
  await stack?.stop();
  await model?.close();
});
afterEach(() => model.setFaults(noFaults));

async function request<T>(project: Project, path: string, method = 'GET', body?: object): Promise<T> {
  const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (response.status >= 300) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Creates a project that has prices of the simulated models. */
async function createPricedProject(name: string, workspaceId?: string): Promise<Project> {
  const project = await stack.createProject(name, workspaceId);
  const prices = ['sim-task', 'sim-reflect'].map((each) => ({
    ...{ model: each, input_per_million: '20', output_per_million: '60' },
  }));
  await request(project, '/model-prices', 'PUT', { prices });
  return project;
}

/** Stores a run that has reserved an amount of the budget. */
async function start(project: Project, input: RunInput): Promise<RunRef> {
  showLogsOnFailure(stack);
  const expiresAt = new Date(Date.now() + 3_600_000);
  const amountNanoUsd = parseUsd('1') ?? 0n;
  const reservationId = await insertReservation(postgres, { projectId: project.id, amountNanoUsd, expiresAt });
  return insertQueuedRun(postgres, project.id, { rows: 80, ...input, reservationId });
}

const reserved = async (project: Project) => (await request<{ reserved: string }>(project, '/budget')).reserved;

it('every call of a run is an execution with a cost, counts in the spend, and is no call of the prompt', async () => {
  const workspaceId = await stack.createWorkspace('of the test', 'pro');
  const project = await createPricedProject('recorded', workspaceId);
  const run = await start(project, { budget: { maxCalls: 120 } });
  const ended = await untilEnded(postgres, run, endMsMax);
  expect(ended).toMatchObject({ state: 'completed', error: null });
  const { calls, costNanoUsd } = ended.usage;
  const cost = formatUsd(costNanoUsd);
  const ofRun = `/executions?attr.promptlane.metadata.optimization_run_id=${run.id}&include_total=true&limit=1`;
  await until('its executions', endMsMax, async () => {
    const { page } = await request<{ page: { total: number } }>(project, ofRun);
    return page.total === calls;
  });
  const { data } = await request<{ data: { trace_id: string; tags: string[] }[] }>(project, ofRun);
  expect(data[0]).toMatchObject({
    status: 'ok',
    models: [expect.stringMatching(/^sim-/)],
    tags: ['optimization'],
    prompts: [],
  });
  const stats = await request(project, '/stats');
  expect(stats).toMatchObject({ totals: { executions: calls, unpriced_spans: 0, cost } });
  expect(await request(project, '/budget')).toMatchObject({ spend: cost, reserved: formatUsd(0n) });
  const quota = await fetch(`${stack.apiUrl}/api/workspaces/${workspaceId}/quota`, {
    headers: { 'X-API-Key': project.apiKey },
  });
  expect(await quota.json()).toMatchObject({
    limits: expect.arrayContaining([expect.objectContaining({ resource: 'spans', used: calls })]),
  });
  const analytics = await request(project, `/prompts/${run.promptId}/analytics`);
  expect(analytics).toMatchObject({ totals: { executions: 0 } });
});

it('a run whose project has used up its budget ends its search, decides on the holdout, and says why', async () => {
  model.setFaults({ latencyMs: 200 });
  const project = await createPricedProject('used up');
  const run = await start(project, { budget: { maxCalls: 5_000 } });
  await untilCalls(postgres, run, 20);
  expect(await reserved(project)).toBe(formatUsd(parseUsd('1') ?? 0n));
  const budget = { currency: 'USD', period: 'monthly', enforcement: 'block_optimize' };
  await request(project, '/budget', 'PUT', { ...budget, amount: '0.000001' });
  const ended = await untilEnded(postgres, run, endMsMax);
  expect(ended).toMatchObject({ state: 'completed', finishReason: 'project_budget' });
  expect(ended.decision?.score).toMatchObject({ split: 'holdout', n: 24 });
  expect(await reserved(project)).toBe(formatUsd(0n));
});

it.each([
  ['fails', { failing: ['task'] }, 'failed'],
  ['is cancelled', { hang: 1 }, 'cancelled'],
] as const)('a run that %s reserves nothing of the budget any more', async (name, faults, state) => {
  const project = await createPricedProject(name);
  model.setFaults(faults);
  const run = await start(project, {});
  await until('it runs', endMsMax, async () => (await readRun(postgres, run)).state === 'running');
  expect(await reserved(project)).not.toBe(formatUsd(0n));
  if (state === 'cancelled') await postgres('optimization_runs').where({ id: run.id }).update({ state: 'cancelling' });
  expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({ state });
  expect(await reserved(project)).toBe(formatUsd(0n));
});

it('a run that is cancelled while its calls cannot be stored ends within 3 s, and no other worker takes it', async () => {
  model.setFaults({ latencyMs: 100 });
  const project = await createPricedProject('not stored');
  const run = await start(project, { budget: { maxCalls: 5_000, maxCostUsd: '1' } });
  await untilCalls(postgres, run, 20);
  await stack.engines.clickhouse.kill();
  const { usage } = await readRun(postgres, run);
  await untilCalls(postgres, run, usage.calls + 20);
  const atMs = Date.now();
  await postgres('optimization_runs').where({ id: run.id }).update({ state: 'cancelling' });
  const ended = await untilEnded(postgres, run, endMsMax);
  await stack.engines.clickhouse.start();
  expect(Number(ended.finishedAt) - atMs).toBeLessThan(3_000);
  expect(ended).toMatchObject({ state: 'cancelled', attempt: 1 });
});

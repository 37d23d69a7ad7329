import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { insertQueuedRun, type RunRef, readRun, untilCalls, untilEnded } from '../support/optimization-runs.ts';
import { noFaults } from '../support/simulated-model/faults.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const endMsMax = 90_000;
const runsPerWorkspace = 2;
const startMsMax = 5_000;
const input = { rows: 80, budget: { maxCalls: 200 } };

let stack: Stack;
let postgres: Postgres;
let model: SimulatedModel;
let projectId: string;
beforeAll(async () => {
  model = await startSimulatedModel();
  stack = await startStack({ env: { LLM_BASE_URL: model.url, LLM_API_KEY: 'key-of-the-test' } });
  postgres = connectPostgres(stack.engines.postgres.url, 4);
  projectId = (await stack.createProject('of the test')).id;
});
afterAll(async () => {
  await postgres?.destroy();
  await stack?.stop();
  await model?.close();
});
afterEach(() => model.setFaults(noFaults));

/** Starts a run, and waits until it is in the middle. */
async function startRun(): Promise<RunRef> {
  showLogsOnFailure(stack);
  model.setFaults({ latencyMs: 50 });
  const run = await insertQueuedRun(postgres, projectId, input);
  await untilCalls(postgres, run, 40);
  return run;
}

it('Redis has lost its data: runs in progress end, and runs that are created later start', async () => {
  const run = await startRun();
  await stack.redis.flushall();
  const later = await insertQueuedRun(postgres, projectId, input);
  for (const each of [run, later]) {
    expect(await untilEnded(postgres, each, endMsMax)).toMatchObject({ state: 'completed', attempt: 1 });
  }
});

it('Redis is restarted: a run in progress goes on, with the same worker', async () => {
  const run = await startRun();
  await stack.engines.redis.kill();
  await until('its calls wait', 30_000, () => model.stats.inFlight === 0);
  await stack.engines.redis.start();
  expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({ state: 'completed', attempt: 1, losses: 0 });
});

it('a worker that is stopped gives its run back, and another goes on at once', async () => {
  const run = await startRun();
  const { code } = await stack.worker.terminate();
  expect(code).toBe(0);
  expect(await readRun(postgres, run)).toMatchObject({ state: 'queued', losses: 0 });
  await stack.worker.start();
  expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({ state: 'completed', attempt: 2, losses: 0 });
});

it('a workspace with 50 queued runs does not delay the first run of another', async () => {
  showLogsOnFailure(stack);
  model.setFaults({ hang: 1 });
  const [busy, other] = await Promise.all(
    ['busy', 'other'].map(async (name) => {
      const workspaceId = await stack.createWorkspace(name, 'enterprise');
      return (await stack.createProject('of the workspace', workspaceId)).id;
    }),
  );
  if (busy === undefined || other === undefined) throw new Error('no projects');
  for (let created = 0; created < 50; created++) await insertQueuedRun(postgres, busy, input);
  await until('its first runs', 30_000, async () => (await running(busy)) === runsPerWorkspace);
  const run = await insertQueuedRun(postgres, other, input);
  await until('the run of the other', startMsMax, async () => (await readRun(postgres, run)).state === 'running');
  expect(await running(busy)).toBe(runsPerWorkspace);
});

async function running(project: string): Promise<number> {
  const row = await postgres('optimization_runs').where({ project_id: project, state: 'running' }).count({ n: '*' });
  return Number(row[0]?.n);
}

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions } from '../../support/executions.ts';
import { newFeedback } from '../../support/feedback.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { listExecutions } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let proxy: PostgresProxy;
let api: TestApi;
let executions: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  proxy = await startPostgresProxy(inject('serviceDatabaseUrl'));
  api = await startApi({ databaseUrl: proxy.url });
  executions = connectExecutions(api);
});
afterAll(async () => {
  proxy.release();
  await executions.close();
  await api.close();
  await proxy.close();
});

test('while Postgres does not tell the feedback, executions are readable without it, and has_feedback gets 503', async () => {
  const project = await newProject(api);
  const execution = anExecution(project);
  await executions.store([execution]);
  await newFeedback(api, project, { target_type: 'execution', trace_id: execution.traceId, rating: 'up' });
  // Statements that nobody waits for any more keep places of their workspace.
  const other = await newProject(api);
  await newFeedback(api, other, { target_type: 'execution', trace_id: execution.traceId, rating: 'up' });
  const scores = async () => (await listExecutions(api, project)).body.data.map((item) => item.feedback_score);
  expect(await scores()).toEqual([1]);

  proxy.hold('"feedback"');
  const beganMs = performance.now();
  for (let tries = 0; tries < 10; tries++) expect(await scores()).toEqual([null]);
  // Each project waits for it once a second.
  expect(proxy.asked()).toBeLessThanOrEqual(Math.ceil((performance.now() - beganMs) / 1_000));
  const params = { project_id: other.id };
  const filtered = await api.call('listExecutions', { key: other.key, params, query: { has_feedback: true } });
  expectProblem(filtered, 503, 'postgres_unavailable');

  proxy.release();
  expect(await scores()).toEqual([1]);
});

test('while Postgres does not tell the names of prompts, lists that ask for a prompt do not hold those of others', async () => {
  const reader = await newProject(api);
  const execution = anExecution(reader);
  await executions.store([execution]);
  expect((await listExecutions(api, reader)).status).toBe(200);
  proxy.hold('templateKeys');
  const workspaces = await Promise.all(Array.from({ length: 13 }, () => newProject(api)));
  const asking = workspaces.flatMap((project) =>
    Array.from({ length: 2 }, () => listExecutions(api, project, { prompt_id: newId('prm') })),
  );
  await until('Postgres keeps lists waiting', 5_000, () => proxy.held() >= 4);
  const beganMs = performance.now();
  expect((await listExecutions(api, reader)).body.data).toMatchObject([{ trace_id: execution.traceId }]);
  expect(performance.now() - beganMs).toBeLessThan(2_000);
  proxy.release();
  const statuses = (await Promise.all(asking)).map(({ status }) => status);
  expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
});

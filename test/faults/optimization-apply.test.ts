import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { insertQueuedRun, type RunInput, untilCalls, untilEnded } from '../support/optimization-runs.ts';
import { perfectTemplate } from '../support/simulated-model/simulated-task.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { tickets } from '../support/simulated-model/tickets.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';

const endMsMax = 120_000;
const improvable: RunInput = { rows: 120, budget: { maxCalls: 400 }, apply: 'if_improved' };

let stack: Stack;
let postgres: Postgres;
let model: SimulatedModel;
let project: Project;
beforeAll(async () => {
  model = await startSimulatedModel({ faults: { latencyMs: 5 } });
  stack = await startStack({ env: { LLM_BASE_URL: model.url, LLM_API_KEY: 'key-of-the-test' } });
  postgres = connectPostgres(stack.engines.postgres.url, 4);
  project = await stack.createProject('of the test');
});
afterAll(async () => {
  await postgres?.destroy();
  await stack?.stop();
  await model?.close();
});

const versionsOf = (promptId: string) =>
  postgres('prompt_versions')
    .where({ prompt_id: promptId })
    .orderBy('version')
    .select('version', 'kind', 'template', 'optimization_run_id');

it('a run that has improved its prompt makes a version of the winner', async () => {
  showLogsOnFailure(stack);
  const run = await insertQueuedRun(postgres, project.id, improvable);
  const ended = await untilEnded(postgres, run, endMsMax);
  const winnerId = ended.decision?.winnerId;
  expect(ended).toMatchObject({ outcome: 'improved', appliedVersion: 2, appliedCandidateId: winnerId, warnings: [] });
  const winner = await postgres('optimization_candidates').where({ run_id: run.id, id: winnerId }).first('content');
  const { template } = winner.content;
  expect(await versionsOf(run.promptId)).toMatchObject([
    { version: 1, template: tickets.seedTemplate },
    { version: 2, template, kind: 'optimization', optimization_run_id: run.id },
  ]);
  const events = await postgres('events').where({ project_id: project.id }).select('type', 'data');
  expect(events).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: 'prompt.version_created' }),
      expect.objectContaining({
        type: 'optimization.finished',
        data: expect.objectContaining({ run_id: run.id, outcome: 'improved', created_version: 2 }),
      }),
    ]),
  );
});

it('a run whose prompt has changed meanwhile makes no version, and warns', async () => {
  showLogsOnFailure(stack);
  const run = await insertQueuedRun(postgres, project.id, improvable);
  await untilCalls(postgres, run, 20);
  const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}/prompts/${run.promptId}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey },
    body: JSON.stringify({ template: 'Another one. {{ticket}}' }),
  });
  expect(response.status).toBe(200);
  const ended = await untilEnded(postgres, run, endMsMax);
  expect(ended).toMatchObject({ state: 'completed', outcome: 'improved', appliedVersion: null });
  expect(ended.warnings).toContainEqual(expect.objectContaining({ code: 'base_version_changed' }));
  expect(await versionsOf(run.promptId)).toMatchObject([{ kind: 'create' }, { kind: 'update' }]);
});

it('a run that has not improved its prompt makes no version', async () => {
  showLogsOnFailure(stack);
  const template = perfectTemplate(tickets);
  const run = await insertQueuedRun(postgres, project.id, { ...improvable, template, budget: { maxCalls: 250 } });
  const ended = await untilEnded(postgres, run, endMsMax);
  expect(ended).toMatchObject({ state: 'completed', appliedVersion: null });
  expect(ended.outcome).not.toBe('improved');
  expect(await versionsOf(run.promptId)).toHaveLength(1);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { insertQueuedRun, untilEnded } from '../support/optimization-runs.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';

const endMsMax = 120_000;

let stack: Stack;
let postgres: Postgres;
let model: SimulatedModel;
beforeAll(async () => {
  model = await startSimulatedModel({ faults: { rate429: 0.1, rate500: 0.05 } });
  stack = await startStack({ env: { LLM_BASE_URL: model.url, LLM_API_KEY: 'key-of-the-test' } });
  postgres = connectPostgres(stack.engines.postgres.url, 4);
});
afterAll(async () => {
  await postgres?.destroy();
  await stack?.stop();
  await model?.close();
});

describe('a run of which every tenth request gets 429 and every twentieth 500', () => {
  it.each([60, 150, 500])(
    'with %i calls at most: the endpoint bills no more, and the run decides',
    async (maxCalls) => {
      showLogsOnFailure(stack);
      const project = await stack.createProject('calls');
      const before = billed();
      const run = await insertQueuedRun(postgres, project.id, { budget: { maxCalls }, search: { concurrency: 16 } });
      const ended = await untilEnded(postgres, run, endMsMax);
      console.log(ended.state, ended.outcome, ended.finishReason, ended.usage, ended.decision?.score, ended.error);
      expect(ended).toMatchObject({ state: 'completed', finishReason: 'budget_calls' });
      expect(ended.decision?.score?.split).toBe('holdout');
      const calls = billed().calls - before.calls;
      expect(calls).toBeLessThanOrEqual(maxCalls);
      expect(ended.usage).toMatchObject({ calls, estimated: false });
    },
  );
});

function billed() {
  const { billed: each, inputTokens, outputTokens } = model.stats;
  return { calls: each.task + each.reflect + each.judge, inputTokens, outputTokens };
}

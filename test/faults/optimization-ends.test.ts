import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import {
  insertQueuedRun,
  type RunInput,
  type RunRef,
  readRun,
  untilCalls,
  untilEnded,
} from '../support/optimization-runs.ts';
import { deletePrompt } from '../support/prompts.ts';
import { noFaults } from '../support/simulated-model/faults.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { tickets } from '../support/simulated-model/tickets.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const concurrency = 8;
const endMsMax = 60_000;
const cancelMsMax = 3_000;
const refusalMsMax = 10_000;

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

/** Starts a run whose requests can be told from those of others. */
async function start(name: string, { projectId: ofRun = projectId, ...input }: RunInput & { projectId?: string } = {}) {
  showLogsOnFailure(stack);
  const template = `${name}. ${tickets.seedTemplate}`;
  const search = { concurrency, ...input.search };
  const run = await insertQueuedRun(postgres, ofRun, { rows: 80, ...input, template, search });
  return { run, requests: () => model.requests.filter(({ text }) => text.includes(name)) };
}

/** Waits until another run has ended, so that one that should have stopped had time to show that it has not. */
async function waitForAnother(): Promise<void> {
  const { run } = await start('A run that follows', { budget: { maxCalls: 120 } });
  expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({ state: 'completed' });
}

const setState = (run: RunRef, state: string) =>
  postgres('optimization_runs').where({ project_id: run.projectId, id: run.id, state: 'running' }).update({ state });

describe('a run that is cancelled', () => {
  it('ends within 3 s, sends no more requests, and keeps its history', async () => {
    model.setFaults({ latencyMs: 150 });
    const { run, requests } = await start('A run to be cancelled');
    await untilCalls(postgres, run, 60);
    const atMs = Date.now();
    await setState(run, 'cancelling');
    const ended = await untilEnded(postgres, run, endMsMax);
    expect(Date.now() - atMs).toBeLessThan(cancelMsMax);
    expect(ended).toMatchObject({ state: 'cancelled', finishReason: 'cancelled', outcome: null, decision: null });
    await waitForAnother();
    const endedAtMs = ended.finishedAt?.getTime() ?? 0;
    expect(requests().filter((request) => request.atMs > endedAtMs)).toEqual([]);
    expect(await postgres('optimization_evaluations').where({ run_id: run.id })).not.toEqual([]);
    expect(await postgres('optimization_candidates').where({ run_id: run.id, origin: 'seed' })).toHaveLength(1);
    expect(await readRun(postgres, run)).toEqual(ended);
    expect(await postgres('optimization_calls').where({ run_id: run.id, state: 'reserved' })).toEqual([]);
  });

  it('while its endpoint does not respond, ends within 3 s as well, and leaves its requests', async () => {
    model.setFaults({ hang: 1 });
    const { run, requests } = await start('A run that hangs');
    await until('its requests', endMsMax, () => requests().length === concurrency);
    const { aborted } = model.stats;
    const atMs = Date.now();
    await setState(run, 'cancelling');
    const ended = await untilEnded(postgres, run, endMsMax);
    expect(Date.now() - atMs).toBeLessThan(cancelMsMax);
    await until('it has left', cancelMsMax, () => model.stats.aborted === aborted + concurrency);
    // They may have been billed.
    expect(ended).toMatchObject({ state: 'cancelled' });
    expect(await readRun(postgres, run)).toMatchObject({ usage: { calls: concurrency, estimated: true } });
  });

  it('while its requests are refused with 429, has used nothing', async () => {
    model.setFaults({ rate429: 1, retryAfterMs: 30_000 });
    const { run, requests } = await start('A run that is refused');
    await until('its requests', endMsMax, () => requests().length === concurrency);
    await setState(run, 'cancelling');
    expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({
      ...{ state: 'cancelled', usage: { calls: 0, outputTokens: 0, costNanoUsd: 0n, estimated: false } },
    });
  });
});

describe.each([
  ['model_prices', 'before its first call'],
  ['optimization_evaluations', 'during the search'],
])('a run while %s is locked for longer than a statement may take', (table, when) => {
  it(`${when}, goes on when the lock is gone`, async () => {
    const { id } = await stack.createProject(`of a lock of ${table}`);
    const locking = await postgres.transaction();
    await locking.raw('lock table ?? in access exclusive mode', [table]);
    const waiting = async () => {
      const { rows } = await locking.raw<{ rows: { begun: Date }[] }>(
        `select query_start as begun from pg_locks join pg_stat_activity using (pid)
         where relation = ?::regclass and not granted order by begun limit 1`,
        [table],
      );
      return rows[0]?.begun.getTime();
    };
    const { run } = await start(`A run that waits for ${table}`, { projectId: id, budget: { maxCalls: 120 } });
    const first = await until('a statement waits', endMsMax, waiting);
    await until('Postgres has stopped it', endMsMax, async () => (await waiting()) !== first);
    await locking.rollback();
    expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({ state: 'completed', error: null });
  });
});

describe('a run whose prompt is deleted', () => {
  it('meanwhile, fails with that reason and sends no more', async () => {
    model.setFaults({ latencyMs: 100 });
    const { run, requests } = await start('A run of a deleted prompt');
    await untilCalls(postgres, run, 20);
    await deletePrompt(postgres, projectId, run.promptId);
    const ended = await untilEnded(postgres, run, endMsMax);
    expect(ended).toMatchObject({ state: 'failed', finishReason: 'error', error: { code: 'prompt_deleted' } });
    await waitForAnother();
    const endedAtMs = ended.finishedAt?.getTime() ?? 0;
    expect(requests().filter((request) => request.atMs > endedAtMs)).toEqual([]);
  });

  it('before it starts, fails with that reason and sends nothing', async () => {
    showLogsOnFailure(stack);
    const requests = model.requests.length;
    const run = await insertQueuedRun(postgres, projectId, {}, (transaction, { promptId }) =>
      deletePrompt(transaction, projectId, promptId),
    );
    const ended = await untilEnded(postgres, run, endMsMax);
    expect(ended).toMatchObject({ state: 'failed', error: { code: 'prompt_deleted' }, usage: { calls: 0 } });
    expect(model.requests).toHaveLength(requests);
  });
});

describe('a run whose endpoint', () => {
  it('has an error for every request fails with evaluation_failed, and is not scored', async () => {
    model.setFaults({ failing: ['task'] });
    const { run } = await start('A run with errors');
    const ended = await untilEnded(postgres, run, endMsMax);
    expect(ended).toMatchObject({ state: 'failed', outcome: null, error: { code: 'evaluation_failed' } });
    expect(ended.error?.message).toContain('The server had an error');
    expect(ended.usage.calls).toBe(0);
    expect(await postgres('optimization_evaluations').where({ run_id: run.id }).whereNotNull('score')).toEqual([]);
  });

  it('has an error for every proposal fails with reflection_failed', async () => {
    model.setFaults({ failing: ['reflect'] });
    const { run } = await start('A run without proposals');
    expect(await untilEnded(postgres, run, endMsMax)).toMatchObject({
      ...{ state: 'failed', error: { code: 'reflection_failed' } },
    });
  });

  it.each([
    ['refuses its key', { unauthorized: true }, 'provider_auth', 'Incorrect API key provided'],
    [
      'does not know the model',
      { unknownModel: true },
      'provider_model_not_found',
      'The model sim-task does not exist',
    ],
  ])(
    '%s fails within 10 s with the words of the provider, and tries nothing again',
    async (name, faults, code, words) => {
      model.setFaults(faults);
      const { run, requests } = await start(`A run whose endpoint ${name}`);
      const ended = await untilEnded(postgres, run, endMsMax);
      expect(ended).toMatchObject({ state: 'failed', error: { code, message: expect.stringContaining(words) } });
      expect(Number(ended.finishedAt) - Number(ended.startedAt)).toBeLessThan(refusalMsMax);
      expect(requests().length).toBeLessThanOrEqual(concurrency);
      expect(ended.usage.calls).toBe(0);
    },
  );
});

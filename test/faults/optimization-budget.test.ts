import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseUsd } from '../../src/lib/money.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { insertQueuedRun, type RunInput, untilEnded } from '../support/optimization-runs.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';

const endMsMax = 120_000;
const [rows, holdoutRows] = [80, 24];
/** USD for a million tokens. */
const prices = { input: 20, output: 60 };
const nanoUsdOf = ({ inputTokens, outputTokens }: Billed) =>
  BigInt((inputTokens * prices.input + outputTokens * prices.output) * 1_000);

let stack: Stack;
let postgres: Postgres;
let model: SimulatedModel;
let project: Project;
let before: Billed;
beforeAll(async () => {
  model = await startSimulatedModel();
  stack = await startStack({ env: { LLM_BASE_URL: model.url, LLM_API_KEY: 'key-of-the-test' } });
  postgres = connectPostgres(stack.engines.postgres.url, 4);
  project = await stack.createProject('of the test');
  const own = { input_per_million: String(prices.input), output_per_million: String(prices.output) };
  await call('PUT', '/model-prices', { prices: ['sim-task', 'sim-reflect'].map((name) => ({ model: name, ...own })) });
});
afterAll(async () => {
  await postgres?.destroy();
  await stack?.stop();
  await model?.close();
});
beforeEach(() => {
  before = totals();
});

interface Billed {
  calls: number;
  inputTokens: number;
  outputTokens: number;
}

/** What the endpoint has billed so far. */
function totals(): Billed {
  const { billed, inputTokens, outputTokens } = model.stats;
  return { calls: billed.task + billed.reflect + billed.judge, inputTokens, outputTokens };
}

/** What it has billed since the test began. */
function billed(): Billed {
  const now = totals();
  return {
    calls: now.calls - before.calls,
    inputTokens: now.inputTokens - before.inputTokens,
    outputTokens: now.outputTokens - before.outputTokens,
  };
}

async function call(method: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey },
    body: JSON.stringify(body),
  });
  if (response.status >= 300) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
}

/** Runs, and expects a decision on all rows of the holdout that could be scored. */
async function runToItsEnd(input: RunInput) {
  showLogsOnFailure(stack);
  const search = { concurrency: 16, ...input.search };
  const run = await insertQueuedRun(postgres, project.id, { rows, ...input, search });
  const ended = await untilEnded(postgres, run, endMsMax);
  // A row whose four attempts all failed has no score, so it is no pair.
  const failed = await postgres('optimization_evaluations')
    .where({ run_id: run.id, split: 'holdout' })
    .whereNotNull('error')
    .distinct('row_key');
  expect(ended.decision?.score).toMatchObject({ split: 'holdout', n: holdoutRows - failed.length });
  return ended;
}

describe('a run of which every tenth request gets 429 and every twentieth 500', () => {
  beforeAll(() => model.setFaults({ rate429: 0.1, rate500: 0.05 }));
  afterAll(() => model.setFaults({ rate429: 0, rate500: 0 }));

  it.each([60, 150, 500])(
    'with %i calls at most: no more are billed, and it decides on the holdout',
    async (maxCalls) => {
      const ended = await runToItsEnd({ budget: { maxCalls } });
      expect(ended).toMatchObject({ state: 'completed', finishReason: 'budget_calls', error: null });
      expect(billed().calls).toBeLessThanOrEqual(maxCalls);
      expect(ended.usage).toMatchObject({ ...billed(), estimated: false, costNanoUsd: nanoUsdOf(billed()) });
      console.log(`${maxCalls} calls: ${JSON.stringify(billed())}, ${ended.outcome}`);
    },
  );

  it('with 20,000 tokens at most: no more are billed, and it decides on the holdout', async () => {
    const ended = await runToItsEnd({ budget: { maxCalls: null, maxTokens: 20_000 } });
    expect(ended).toMatchObject({ state: 'completed', finishReason: 'budget_tokens', error: null });
    expect(billed().inputTokens + billed().outputTokens).toBeLessThanOrEqual(20_000);
    expect(ended.usage).toMatchObject(billed());
  });

  it('with 0.40 USD at most: no more is billed, and it decides on the holdout', async () => {
    const ended = await runToItsEnd({ budget: { maxCalls: null, maxCostUsd: '0.40' } });
    expect(ended).toMatchObject({ state: 'completed', finishReason: 'budget_cost', error: null });
    expect(nanoUsdOf(billed())).toBeLessThanOrEqual(parseUsd('0.40') ?? 0n);
    expect(ended.usage.costNanoUsd).toBe(nanoUsdOf(billed()));
  });

  it('without max_cost_usd, and 0.40 USD reserved of a budget that blocks: no more is billed, and it decides on the holdout', async () => {
    const ended = await runToItsEnd({
      budget: { maxCalls: null, maxTokens: 10_000_000 },
      costMaxNanoUsd: 400_000_000n,
    });
    expect(ended).toMatchObject({ state: 'completed', finishReason: 'budget_cost', error: null });
    expect(nanoUsdOf(billed())).toBeLessThanOrEqual(400_000_000n);
  });
});

it('a run whose endpoint tells no usage counts estimates, which are not below what was used, and says so', async () => {
  model.setFaults({ noUsage: true });
  const ended = await runToItsEnd({ budget: { maxCalls: 100 } });
  model.setFaults({ noUsage: false });
  expect(ended).toMatchObject({ state: 'completed', usage: { calls: billed().calls, estimated: true } });
  expect(ended.usage.inputTokens).toBeGreaterThanOrEqual(billed().inputTokens);
  expect(ended.usage.outputTokens).toBeGreaterThanOrEqual(billed().outputTokens);
});

it('a run whose time is over ends its search, and decides on the holdout', async () => {
  model.setFaults({ latencyMs: 100 });
  const ended = await runToItsEnd({ budget: { maxCalls: null, maxDurationS: 3 } });
  model.setFaults({ latencyMs: 0 });
  expect(ended).toMatchObject({ state: 'completed', finishReason: 'duration' });
});

it('a run whose endpoint never responds ends its search in time, and then its final evaluation', async () => {
  model.setFaults({ hang: 1 });
  const startedAtMs = Date.now();
  const run = await insertQueuedRun(postgres, project.id, { rows, budget: { maxCalls: null, maxDurationS: 3 } });
  const ended = await untilEnded(postgres, run, endMsMax);
  model.setFaults({ hang: 0 });
  const message = 'No call of the base was answered within the time of the run.';
  expect(ended).toMatchObject({ state: 'failed', outcome: null, error: { code: 'evaluation_failed', message } });
  expect(Date.now() - startedAtMs).toBeLessThan(80_000);
});

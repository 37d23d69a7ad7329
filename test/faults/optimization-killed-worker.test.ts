import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { insertQueuedRun, type RunRef, readRun, untilCalls, untilEnded } from '../support/optimization-runs.ts';
import { integerBetween, seededRandom } from '../support/random.ts';
import { type SimulatedModel, startSimulatedModel } from '../support/simulated-model/start-simulated-model.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const kills = 5;
const concurrency = 8;
const resumeMsMax = 10_000;
const endMsMax = 120_000;
const input = { rows: 100, budget: { maxCalls: 1_000 }, search: { concurrency, maxIterations: 12 } };

let stack: Stack;
let postgres: Postgres;
let model: SimulatedModel;
beforeAll(async () => {
  model = await startSimulatedModel({ faults: { latencyMs: 40 } });
  stack = await startStack({ env: { LLM_BASE_URL: model.url, LLM_API_KEY: 'key-of-the-test' } });
  postgres = connectPostgres(stack.engines.postgres.url, 4);
});
afterAll(async () => {
  await postgres?.destroy();
  await stack?.stop();
  await model?.close();
});

const billedCalls = () => Object.values(model.stats.billed).reduce((sum, calls) => sum + calls, 0);

it('a run whose worker is killed five times ends as one that was not disturbed', { timeout: 400_000 }, async () => {
  showLogsOnFailure(stack);
  const project = await stack.createProject('killed');
  const undisturbed = await insertQueuedRun(postgres, project.id, input);
  const expected = await untilEnded(postgres, undisturbed, endMsMax);
  expect(expected).toMatchObject({ state: 'completed', attempt: 1, losses: 0 });
  // Lost calls count as spent, so a run that its budget ends would end earlier.
  expect(expected.finishReason).not.toMatch(/budget/);
  const calls = billedCalls();

  const run = await insertQueuedRun(postgres, project.id, input);
  const resumedMs = await killAtRandomCalls(run, expected.usage.calls);
  const ended = await untilEnded(postgres, run, endMsMax);

  expect(ended).toMatchObject({
    state: 'completed',
    finishReason: 'max_iterations',
    losses: kills,
    attempt: kills + 1,
  });
  expect(await historyOf(run)).toEqual(await historyOf(undisturbed));
  expect(decided(ended)).toEqual(decided(expected));
  const extra = billedCalls() - calls - calls;
  expect(extra).toBeGreaterThan(0);
  expect(extra).toBeLessThanOrEqual(kills * concurrency);
  // What was lost counts as spent, whether or not it was billed.
  expect(ended.usage.calls).toBeGreaterThanOrEqual(calls + extra);
  expect(ended.usage.calls).toBeLessThanOrEqual(calls + kills * concurrency);
  expect(ended.usage.estimated).toBe(true);
  expect(await openCalls(run)).toBe(0);
  expect(Math.max(...resumedMs)).toBeLessThan(resumeMsMax);
  console.log(`${calls} calls, ${extra} more with ${kills} kills; resumed after ${resumedMs.join(', ')} ms`);
});

/** Returns after what time of a worker being there the run went on. */
async function killAtRandomCalls(run: RunRef, calls: number): Promise<number[]> {
  const random = seededRandom();
  const places = Array.from({ length: kills }, () => integerBetween(random, 1, calls - 2 * concurrency));
  const resumedMs: number[] = [];
  for (const [index, place] of places.sort((a, b) => a - b).entries()) {
    await untilCalls(postgres, run, place);
    await stack.worker.kill();
    await stack.worker.start();
    const startedAtMs = Date.now();
    await until('another attempt', 30_000, async () => (await readRun(postgres, run)).attempt === index + 2);
    resumedMs.push(Date.now() - startedAtMs);
  }
  return resumedMs;
}

async function openCalls({ id }: RunRef): Promise<number> {
  const row = await postgres('optimization_calls').where({ run_id: id, state: 'reserved' }).count({ n: '*' }).first();
  return Number(row?.n);
}

/** What a run has found, without what differs between two equal runs: latencies. */
async function historyOf({ id }: RunRef) {
  const candidates = await postgres('optimization_candidates').where({ run_id: id }).orderBy('position');
  const evaluations = await postgres('optimization_evaluations')
    .where({ run_id: id })
    .orderBy(['candidate_hash', 'row_key', 'sample_ix'])
    .select('candidate_hash', 'row_key', 'split', 'score', 'feedback', 'output', 'input_tokens', 'output_tokens');
  return { candidates: candidates.map(({ run_id: _run, ...candidate }) => candidate), evaluations };
}

function decided({ outcome, decision }: Awaited<ReturnType<typeof readRun>>) {
  return { outcome, winnerId: decision?.winnerId, score: decision?.score };
}

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Run } from '../../src/domains/optimization/run.ts';
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
let projectId: string;
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

let undisturbed: RunRef;
let expected: Run;
/** What a run takes that is not disturbed. */
let calls: number;
beforeAll(async () => {
  projectId = (await stack.createProject('of the test')).id;
  undisturbed = await insertQueuedRun(postgres, projectId, input);
  expected = await untilEnded(postgres, undisturbed, endMsMax);
  calls = billedCalls();
});

it('a run that is not disturbed ends by no budget, whose end lost calls would change', () => {
  expect(expected).toMatchObject({ state: 'completed', attempt: 1, losses: 0, usage: { calls, estimated: false } });
  expect(expected.finishReason).not.toMatch(/budget/);
});

it('a run whose worker is killed five times ends as one that was not disturbed', { timeout: 400_000 }, async () => {
  showLogsOnFailure(stack);
  const before = billedCalls();
  const leftBefore = model.stats.aborted;
  const run = await insertQueuedRun(postgres, projectId, input);
  const resumedMs = await killAtRandomCalls(run);
  const ended = await untilEnded(postgres, run, endMsMax);

  await expectEqual(ended, run);
  expect(ended).toMatchObject({ losses: kills, attempt: kills + 1 });
  const states = await postgres('optimization_events').where({ run_id: run.id, type: 'state' }).orderBy('seq');
  const resumed = Array.from({ length: kills }, () => ['queued', 'running']).flat();
  expect(states.map(({ data }) => data.status)).toEqual(['running', ...resumed, 'completed']);
  const extra = billedCalls() - before - calls;
  // A call that is killed before its response is not billed by this endpoint.
  expect(extra + model.stats.aborted - leftBefore).toBeGreaterThan(0);
  expect(extra).toBeGreaterThanOrEqual(0);
  expect(extra).toBeLessThanOrEqual(kills * concurrency);
  // What was lost counts as spent, whether or not it was billed.
  expect(ended.usage.calls).toBeGreaterThanOrEqual(calls + extra);
  expect(ended.usage.calls).toBeLessThanOrEqual(calls + kills * concurrency);
  expect(ended.usage.estimated).toBe(true);
  expect(Math.max(...resumedMs)).toBeLessThan(resumeMsMax);
  console.log(`${calls} calls, ${extra} more with ${kills} kills; resumed after ${resumedMs.join(', ')} ms`);
});

it('a frozen worker, whose run another has taken, writes nothing when it goes on', { timeout: 400_000 }, async () => {
  showLogsOnFailure(stack);
  const before = billedCalls();
  const run = await insertQueuedRun(postgres, projectId, input);
  await untilCalls(postgres, run, Math.round(calls / 4));
  stack.worker.signal('SIGSTOP');
  const other = await stack.startWorker();
  await until('the other worker has it', 30_000, async () => (await readRun(postgres, run)).attempt === 2);
  await untilCalls(postgres, run, Math.round(calls / 2));
  stack.worker.signal('SIGCONT');
  await until('the frozen worker has noticed', 30_000, () => stack.worker.log().includes('another worker has taken'));
  const ended = await untilEnded(postgres, run, endMsMax);
  await other.terminate();

  await expectEqual(ended, run);
  expect(ended).toMatchObject({ losses: 1, attempt: 2 });
  expect(billedCalls() - before - calls).toBeLessThanOrEqual(concurrency);
});

/** Expects that a run has taken the same way as the undisturbed one, and that its ledger agrees with its journal. */
async function expectEqual(ended: Run, run: RunRef): Promise<void> {
  const { state, outcome, finishReason, decision } = ended;
  expect({ state, outcome, finishReason }).toEqual({
    ...{ state: 'completed', outcome: expected.outcome, finishReason: expected.finishReason },
  });
  expect(await historyOf(run)).toEqual(await historyOf(undisturbed));
  const { winnerId, score } = expected.decision ?? {};
  expect(decision).toMatchObject({ winnerId, score });
  const { rows } = await postgres.raw(
    `select count(*) filter (where state = 'reserved')::int as open, count(*) filter (where billed)::int as calls,
       sum(case when state = 'unknown' then reserved_tokens when billed then input_tokens + output_tokens end)::int as tokens
     from optimization_calls where run_id = ?`,
    [run.id],
  );
  const { usage } = await readRun(postgres, run);
  expect(rows[0]).toEqual({ open: 0, calls: usage.calls, tokens: usage.inputTokens + usage.outputTokens });
}

/** Returns after what time of a worker being there the run went on. */
async function killAtRandomCalls(run: RunRef): Promise<number[]> {
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

/** What a run has found, without what differs between two equal runs: latencies. */
async function historyOf({ id }: RunRef) {
  const candidates = await postgres('optimization_candidates').where({ run_id: id }).orderBy('position');
  const evaluations = await postgres('optimization_evaluations')
    .where({ run_id: id })
    .orderBy(['candidate_hash', 'row_key', 'sample_ix'])
    .select('candidate_hash', 'row_key', 'split', 'score', 'feedback', 'output', 'input_tokens', 'output_tokens');
  return { candidates: candidates.map(({ run_id: _run, ...candidate }) => candidate), evaluations };
}

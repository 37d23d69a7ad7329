import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Caller } from '../../src/domains/optimization/call-model.ts';
import { readJournal } from '../../src/domains/optimization/journal-store.ts';
import type { Lease } from '../../src/domains/optimization/lease.ts';
import { claimRun, loseOpenCalls } from '../../src/domains/optimization/lease-store.ts';
import {
  type CallToReserve,
  reserveCall,
  type Settlement,
  settleCall,
  storeHoldoutReserve,
} from '../../src/domains/optimization/ledger-store.ts';
import type { Run } from '../../src/domains/optimization/run.ts';
import type { ModelCall, SearchConfig } from '../../src/domains/prompt-search/search/ports.ts';
import { RateLimitedError } from '../../src/lib/errors.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { insertQueuedRun, type RunInput, type RunRef, readRun } from '../support/optimization-runs.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let project: ProjectOfTest;
/** Several workers would have as many connections. */
let postgres: Postgres;
beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  postgres = connectPostgres(inject('serviceDatabaseUrl'), 10);
});
afterAll(async () => {
  await postgres.destroy();
  await api.close();
});

const call = (key: string, given: Partial<CallToReserve> = {}): CallToReserve => ({
  ...{
    key,
    attempt: 1,
    kind: 'task',
    phase: 'search',
    inputTokens: 70,
    outputTokens: 30,
    costNanoUsd: 1_000n,
    ...given,
  },
});

const billed = (inputTokens: number, outputTokens: number, costNanoUsd: bigint): Settlement => ({
  ...{ state: 'done', isFinal: true, response: 'yes', error: null, latencyMs: 5 },
  billed: { inputTokens, outputTokens, costNanoUsd, isEstimate: false },
});
const refused: Settlement = {
  ...{ state: 'failed', billed: null, isFinal: true, response: null, latencyMs: 5 },
  error: { code: 'provider_error', message: 'The server had an error.' },
};

/** Stores a run that the test has claimed, before a worker can. */
async function claimedRun(
  budget: Partial<SearchConfig['budget']>,
  input: RunInput = {},
): Promise<{ run: RunRef; lease: Lease; claimed: Run }> {
  let taken: { run: Run; lease: Lease } | undefined;
  const run = await insertQueuedRun(
    postgres,
    project.id,
    { ...input, budget },
    async (transaction, { projectId, id }) => {
      taken = await claimRun(transaction, { projectId, runId: id });
      // No worker takes it, although nobody renews its lease.
      await transaction('optimization_runs')
        .where({ project_id: projectId, id })
        .update({ heartbeat_at: new Date(Date.now() + 3_600_000) });
    },
  );
  if (taken === undefined) throw new Error('The run was not claimed');
  return { run, lease: taken.lease, claimed: taken.run };
}

const reserveMany = (lease: Lease, count: number, given: Partial<CallToReserve> = {}) =>
  Promise.all(Array.from({ length: count }, (_, index) => reserveCall(postgres, lease, call(`many-${index}`, given))));

describe('calls that are reserved at the same time', () => {
  it.each([
    ['calls', { maxCalls: 17 }, 'budget_calls'],
    ['tokens', { maxCalls: null, maxTokens: 1_799 }, 'budget_tokens'],
    ['cost', { maxCalls: null, maxCostUsd: '0.0000179' }, 'budget_cost'],
  ] as const)('never exceed a limit of %s, and are told which limit has no room', async (_limit, budget, reason) => {
    const { lease } = await claimedRun(budget);
    const results = await reserveMany(lease, 60);
    expect(results.filter((each) => each === undefined)).toHaveLength(17);
    expect(new Set(results)).toEqual(new Set([undefined, reason]));
  });

  it('of a run without max_cost_usd never exceed what it has reserved of a budget, those of the final evaluation included', async () => {
    const { run, lease } = await claimedRun({ maxCalls: null }, { costMaxNanoUsd: 17_900n });
    await storeHoldoutReserve(postgres, lease, { calls: 0, tokens: 0, costNanoUsd: 7_000n });
    expect((await reserveMany(lease, 20)).filter((each) => each === undefined)).toHaveLength(10);
    const final = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        reserveCall(postgres, lease, call(`final-${index}`, { phase: 'holdout' })),
      ),
    );
    expect(final.filter((each) => each === undefined)).toHaveLength(7);
    expect(new Set(final)).toEqual(new Set([undefined, 'budget_cost']));
    expect((await readRun(postgres, run)).config.budget.maxCostUsd).toBeNull();
  });

  it('leave what the final evaluation keeps, which alone may use it', async () => {
    const { lease } = await claimedRun({ maxCalls: 30 });
    await storeHoldoutReserve(postgres, lease, { calls: 20, tokens: 0, costNanoUsd: 0n });
    expect((await reserveMany(lease, 25)).filter((each) => each === undefined)).toHaveLength(10);
    const final = await Promise.all(
      Array.from({ length: 25 }, (_, index) =>
        reserveCall(postgres, lease, call(`final-${index}`, { phase: 'holdout' })),
      ),
    );
    expect(final.filter((each) => each === undefined)).toHaveLength(20);
    expect(new Set(final)).toEqual(new Set([undefined, 'budget_calls']));
  });
});

describe('a run whose owner sets no limit of calls', () => {
  it('makes 100,000 at most', async () => {
    const { run, lease } = await claimedRun({ maxCalls: null, maxTokens: 10_000_000 });
    await postgres('optimization_runs').where({ project_id: project.id, id: run.id }).update({ used_calls: 99_990 });
    const results = await reserveMany(lease, 20);
    expect(results.filter((each) => each === undefined)).toHaveLength(10);
    expect(new Set(results)).toEqual(new Set([undefined, 'budget_calls']));
  });

  it('reads its journal in parts', async () => {
    const { run, lease } = await claimedRun({ maxCalls: null, maxTokens: 10_000_000 });
    const keys = 10_000;
    await postgres.raw(
      `insert into optimization_calls (project_id, run_id, call_key, attempt, kind, phase, state, final,
         reserved_tokens, reserved_output_tokens, reserved_nano_usd)
       select :project, :run, 'key ' || n, attempt, 'task', 'search', case attempt when 1 then 'unknown' else 'done' end,
         true, 10, 5, 0
       from generate_series(1, cast(:keys as integer)) as n, generate_series(1, 1 + n % 2) as attempt`,
      { project: project.id, run: run.id, keys },
    );
    const read: number[] = [];
    const note = (_response: unknown, { response }: { response: { rowCount: number } }) => read.push(response.rowCount);
    postgres.on('query-response', note);
    const { calls, lost } = await readJournal(postgres, lease);
    postgres.off('query-response', note);
    expect(Math.max(...read)).toBe(5_000);
    expect(calls.size).toBe(keys);
    expect(calls.get('key 7')).toEqual({ attempt: 2, isFinished: true, isLost: false });
    expect(calls.get('key 8')).toEqual({ attempt: 1, isFinished: false, isLost: true });
    expect(lost).toEqual({ calls: keys, tokens: 10 * keys, costNanoUsd: 0n });
  });
});

describe('a reserved call', () => {
  it('counts what it has used instead, and once if it is settled twice', async () => {
    const { run, lease } = await claimedRun({ maxCalls: 10 });
    await reserveCall(postgres, lease, call('a'));
    expect(await reserveCall(postgres, lease, call('a'))).toBeUndefined();
    for (const _ of [1, 2]) await settleCall(postgres, lease, { key: 'a', attempt: 1 }, billed(40, 2, 500n));
    const { usage } = await readRun(postgres, run);
    expect(usage).toMatchObject({ calls: 1, taskCalls: 1, inputTokens: 40, outputTokens: 2, costNanoUsd: 500n });
    expect(await reservedOf(run)).toEqual({ reserved_calls: 0, reserved_tokens: '0', reserved_nano_usd: '0' });
  });

  it('that the provider has not billed gives its place back', async () => {
    const { run, lease } = await claimedRun({ maxCalls: 1 });
    await reserveCall(postgres, lease, call('refused'));
    await settleCall(postgres, lease, { key: 'refused', attempt: 1 }, refused);
    expect((await readRun(postgres, run)).usage).toMatchObject({ calls: 0, inputTokens: 0, costNanoUsd: 0n });
    expect(await reserveCall(postgres, lease, call('next'))).toBeUndefined();
  });

  it('that is lost counts with all that it had reserved, as an estimate', async () => {
    const { run, lease } = await claimedRun({ maxCalls: 10 });
    await reserveMany(lease, 3, { kind: 'reflect' });
    await postgres.transaction((transaction) => loseOpenCalls(transaction, lease));
    expect((await readRun(postgres, run)).usage).toEqual({
      ...{ calls: 3, taskCalls: 0, reflectCalls: 3, judgeCalls: 0 },
      ...{ inputTokens: 210, outputTokens: 90, costNanoUsd: 3_000n, estimated: true },
    });
    expect(await reservedOf(run)).toEqual({ reserved_calls: 0, reserved_tokens: '0', reserved_nano_usd: '0' });
  });
});

describe('a worker that', () => {
  it('has lost its lease reserves nothing and settles nothing', async () => {
    const { run, lease } = await claimedRun({ maxCalls: 10 });
    await reserveCall(postgres, lease, call('a'));
    await postgres('optimization_runs')
      .where({ project_id: project.id, id: run.id })
      .update({ lease_token: 'another' });
    await expect(reserveCall(postgres, lease, call('b'))).rejects.toMatchObject({ name: 'LeaseLost' });
    const settling = settleCall(postgres, lease, { key: 'a', attempt: 1 }, billed(40, 2, 500n));
    await expect(settling).rejects.toMatchObject({ name: 'LeaseLost' });
    expect((await readRun(postgres, run)).usage.calls).toBe(0);
  });

  it('has a run that shall be cancelled reserves nothing', async () => {
    const { run, lease } = await claimedRun({ maxCalls: 10 });
    await postgres('optimization_runs').where({ project_id: project.id, id: run.id }).update({ state: 'cancelling' });
    await expect(reserveCall(postgres, lease, call('b'))).rejects.toMatchObject({ name: 'Cancelled' });
  });
});

function reservedOf({ id }: RunRef) {
  return postgres('optimization_runs')
    .where({ project_id: project.id, id })
    .first('reserved_calls', 'reserved_tokens', 'reserved_nano_usd');
}

describe('a call of a workspace that has no room for its record', () => {
  const full = new RateLimitedError('workspace_busy', 'This workspace has too many bytes that wait');
  const modelCall: ModelCall = {
    ...{ key: 'k', kind: 'task', phase: 'search', model: 'm', messages: [], params: {} },
  };

  /** Makes a call, and tells how often it asked for room, what it sent, and what it recorded. */
  async function waitingCall() {
    const { lease, claimed } = await claimedRun({ maxCalls: 10 });
    const [ending, overdue] = [new AbortController(), new AbortController()];
    const state = { hasRoom: false, asked: 0, sent: 0, recorded: 0 };
    const caller = new Caller({
      ...{ postgres, lease, run: claimed, signal: ending.signal, limit: async () => undefined },
      ...{ deadlines: { search: overdue.signal, holdout: new AbortController().signal } },
      journal: { calls: new Map(), lost: { calls: 0, tokens: 0, costNanoUsd: 0n } },
      prices: {
        priceOf: () => 0n,
        estimate: () => ({ inputTokens: 1, outputTokens: 1, tokens: 2, costNanoUsd: 0n }),
      },
      async requireRoom() {
        state.asked++;
        if (!state.hasRoom) throw full;
      },
      async send() {
        state.sent++;
        return { ok: true, text: 'x', inputTokens: 1, outputTokens: 1, usageEstimated: false, latencyMs: 1 } as never;
      },
      async record() {
        state.recorded++;
      },
    });
    const calling = caller.call(modelCall);
    calling.catch(() => undefined);
    await until('it has asked twice', 5_000, () => state.asked >= 2);
    expect(state.sent).toBe(0);
    return { calling, state, ending, overdue };
  }

  it('is sent once there is room', async () => {
    const { calling, state } = await waitingCall();
    state.hasRoom = true;
    expect(await calling).toMatchObject({ outcome: { ok: true }, used: { calls: 1 } });
    expect(state).toMatchObject({ sent: 1, recorded: 1 });
  });

  it('is not sent once the time of the search is over', async () => {
    const { calling, state, overdue } = await waitingCall();
    overdue.abort();
    await expect(calling).rejects.toMatchObject({ reason: 'duration' });
    expect(state.sent).toBe(0);
  });

  it('is not sent once the run is cancelled', async () => {
    const { calling, state, ending } = await waitingCall();
    ending.abort(new Error('cancelled'));
    await expect(calling).rejects.toThrow('cancelled');
    expect(state.sent).toBe(0);
  });
});

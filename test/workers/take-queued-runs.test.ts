import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepLease } from '../../src/domains/optimization/keep-lease.ts';
import { Cancelled, LeaseLost } from '../../src/domains/optimization/lease.ts';
import { claimRun, releaseLease, renewLease } from '../../src/domains/optimization/lease-store.ts';
import { takeQueuedRuns } from '../../src/domains/optimization/queue-store.ts';
import { resumeRuns } from '../../src/domains/optimization/resume-runs.ts';
import { RunWriter } from '../../src/domains/optimization/run-writer.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { insertQueuedRun, type RunRef, readRun } from '../support/optimization-runs.ts';
import { newDatabase } from '../support/own-database.ts';

let api: TestApi;
let postgres: Postgres;
beforeAll(async () => {
  const databaseUrl = await newDatabase();
  api = await startApi({ databaseUrl });
  postgres = connectPostgres(databaseUrl, 3);
});
afterAll(async () => {
  await postgres?.destroy();
  await api?.close();
});

/** Stores a run whose worker is lost. */
async function lostRun(): Promise<RunRef> {
  const { id: projectId } = await newProject(api);
  return insertQueuedRun(postgres, projectId, {}, (transaction, run) =>
    rowOf(transaction, run).update({ state: 'cancelling', lease_token: 'of-the-test', heartbeat_at: new Date(0) }),
  );
}

const rowOf = (connection: Postgres, { projectId, id }: RunRef) =>
  connection('optimization_runs').where({ project_id: projectId, id });

const hasJob = async (run: RunRef) => (await rowOf(postgres, run).first('enqueued_at')).enqueued_at !== null;

test('a run that a frozen process has locked waits, those of other workspaces get their jobs', async () => {
  const [locked, other] = [await lostRun(), await lostRun()];
  await postgres.transaction(async (frozen) => {
    await rowOf(frozen, locked).forUpdate().first('id');
    await takeQueuedRuns(postgres, { withLost: true });
    expect([await hasJob(locked), await hasJob(other)]).toEqual([false, true]);
  });
  await takeQueuedRuns(postgres, { withLost: true });
  expect(await hasJob(locked)).toBe(true);
});

test('a run that a worker has given back has its turn before those of its workspace that have not begun', async () => {
  const { id: projectId } = await newProject(api);
  const [first, second] = [await insertQueuedRun(postgres, projectId), await insertQueuedRun(postgres, projectId)];
  const begun = await insertQueuedRun(postgres, projectId, {}, (transaction, run) =>
    rowOf(transaction, run).update({ attempt: 1 }),
  );
  const taken = (await takeQueuedRuns(postgres, { withLost: true })).filter((run) => run.projectId === projectId);
  const places = taken.map(({ runId, place, attempt }) => [runId, place, attempt]);
  expect(places.toSorted()).toEqual([
    [first.id, 2, 0],
    [begun.id, 1, 1],
  ]);
  expect(await hasJob(second)).toBe(false);
});

test('the time in which no worker has a run is stored with it, and its beginning stays', async () => {
  const { id: projectId } = await newProject(api);
  const run = await insertQueuedRun(postgres, projectId);
  const claim = async () => {
    const claimed = await claimRun(postgres, { projectId: run.projectId, runId: run.id });
    if (claimed === undefined) throw new Error('The run was not claimed');
    return claimed;
  };
  const hourMs = 3_600_000;
  const waitAnHour = () => rowOf(postgres, run).update({ heartbeat_at: new Date(Date.now() - hourMs) });
  const first = await claim();
  expect(first.run.progress.idleMs).toBeUndefined();
  await releaseLease(postgres, first.lease);
  await waitAnHour();
  const second = await claim();
  expect(second.run.progress.idleMs).toBeGreaterThan(0.99 * hourMs);
  expect(second.run.progress.idleMs).toBeLessThan(1.1 * hourMs);
  // The worker of this attempt is lost.
  const writer = new RunWriter({ ...{ postgres, ...second }, signal: new AbortController().signal });
  const progress = { phase: 'search', iteration: 1, bestVal: null, bestCandidateId: null } as const;
  await writer.note({ type: 'progress', progress }, 1);
  await waitAnHour();
  const third = await claim();
  expect(third.run.progress.idleMs).toBeGreaterThan(1.99 * hourMs);
  expect(third.run.progress.phase).toBe('search');
  expect((await readRun(postgres, run)).startedAt).toEqual(first.run.startedAt);
});

test('a run that is given back was held until then, whatever its last renewal', async () => {
  const { id: projectId } = await newProject(api);
  const run = await insertQueuedRun(postgres, projectId);
  const key = { projectId: run.projectId, runId: run.id };
  const claimed = await claimRun(postgres, key);
  if (claimed === undefined) throw new Error('The run was not claimed');
  await rowOf(postgres, run).update({ heartbeat_at: new Date(0) });
  await releaseLease(postgres, claimed.lease);
  expect((await claimRun(postgres, key))?.run.progress.idleMs).toBeLessThan(60_000);
});

test('after an outage, a run whose worker renews its lease as soon as it can gets no second job', async () => {
  const [held, lost] = [await lostRun(), await lostRun()];
  const lease = { projectId: held.projectId, runId: held.id, token: 'of-the-test' };
  const stopping = new AbortController().signal;
  const enqueued: string[] = [];
  const enqueueRuns = async (runs: readonly { runId: string }[]) =>
    void enqueued.push(...runs.map(({ runId }) => runId));
  await resumeRuns({ postgres, enqueueRuns, stopping }, async () => {
    expect([await hasJob(held), await hasJob(lost)]).toEqual([false, false]);
    expect(await renewLease(postgres, lease)).toBeDefined();
  });
  expect([enqueued.includes(held.id), enqueued.includes(lost.id)]).toEqual([false, true]);
});

test('a lease whose renewal failed is renewed again after 100 ms, not after a second', async () => {
  const { id: projectId } = await newProject(api);
  const { id: runId, ...run } = await insertQueuedRun(postgres, projectId);
  const claimed = await claimRun(postgres, { projectId: run.projectId, runId });
  // Postgres refuses a text with this character.
  const lease = { projectId: run.projectId, runId: '\0', token: claimed?.lease.token ?? '' };
  const done = new AbortController();
  const pauses: number[] = [];
  const stop = (reason: Error) => expect.unreachable(reason.message);
  await keepLease(postgres, lease, {
    ...{ signal: done.signal, stop },
    async pause(ms) {
      pauses.push(ms);
      if (pauses.length === 2) lease.runId = runId;
      if (pauses.length === 3) done.abort();
    },
  });
  expect(pauses).toEqual([100, 100, 1_000]);
});

test('the lease of a run that is to be cancelled is renewed until the run has ended, and one that is lost is not', async () => {
  const { id: projectId } = await newProject(api);
  const queued = await insertQueuedRun(postgres, projectId);
  const claimed = await claimRun(postgres, { projectId: queued.projectId, runId: queued.id });
  if (claimed === undefined) throw new Error('The run was not claimed');
  await rowOf(postgres, queued).update({ state: 'cancelling' });
  const reasons: Error[] = [];
  const { signal } = new AbortController();
  await keepLease(postgres, claimed.lease, {
    ...{ signal, stop: (reason) => void reasons.push(reason) },
    async pause() {
      if (reasons.length === 2) await rowOf(postgres, queued).update({ lease_token: 'of-another' });
    },
  });
  expect(reasons).toEqual([expect.any(Cancelled), expect.any(Cancelled), expect.any(LeaseLost)]);
});

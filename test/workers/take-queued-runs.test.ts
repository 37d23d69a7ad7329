import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepLease } from '../../src/domains/optimization/keep-lease.ts';
import { Cancelled, LeaseLost } from '../../src/domains/optimization/lease.ts';
import { claimRun, renewLease } from '../../src/domains/optimization/lease-store.ts';
import { takeQueuedRuns } from '../../src/domains/optimization/queue-store.ts';
import { resumeRuns } from '../../src/domains/optimization/resume-runs.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { insertQueuedRun, type RunRef } from '../support/optimization-runs.ts';
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

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { takeQueuedRuns } from '../../src/domains/optimization/queue-store.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { insertQueuedRun, type RunRef } from '../support/optimization-runs.ts';

let api: TestApi;
let postgres: Postgres;
beforeAll(async () => {
  api = await startApi();
  postgres = connectPostgres(inject('serviceDatabaseUrl'), 3);
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
    await takeQueuedRuns(postgres);
    expect([await hasJob(locked), await hasJob(other)]).toEqual([false, true]);
  });
  await takeQueuedRuns(postgres);
  expect(await hasJob(locked)).toBe(true);
});

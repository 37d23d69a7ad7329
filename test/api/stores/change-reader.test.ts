import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ChangeReader } from '../../../src/stores/postgres/change-reader.ts';
import { connectPostgres, type Postgres, type Transaction } from '../../../src/stores/postgres/client.ts';
import { newDatabase } from '../../support/own-database.ts';

let postgres: Postgres;
let reader: ChangeReader;
let url: string;
beforeAll(async () => {
  url = await newDatabase();
  postgres = connectPostgres(url, 2);
  reader = new ChangeReader(url);
  expect(await reader.read()).toBeUndefined();
});
afterAll(async () => {
  reader.reset();
  await postgres.destroy();
});

const change = (connection: Postgres | Transaction, prefix: string, count: number) =>
  connection.raw(`insert into changes (topic, subject_id) select 'prompt', ? || n from generate_series(1, ?) n`, [
    prefix,
    count,
  ]);

const idsRead = async () => ((await reader.read()) ?? []).map(({ id }) => id);

test('a change is read once, whatever began first and however many pages there are', async () => {
  const early = await postgres.transaction();
  await change(early, 'early', 1_500);
  expect(await idsRead()).toEqual([]);
  await change(postgres, 'middle', 2_500);
  expect(new Set(await idsRead()).size).toBe(2_500);
  await change(postgres, 'late', 1);
  expect(await idsRead()).toEqual(['late1']);
  await early.commit();
  expect((await idsRead()).filter((id) => id.startsWith('early'))).toHaveLength(1_500);
  expect(await idsRead()).toEqual([]);
});

test('changes of a transaction that is undone are not read', async () => {
  const undone = await postgres.transaction();
  await change(undone, 'undone', 1);
  expect(await idsRead()).toEqual([]);
  await undone.rollback();
  expect(await idsRead()).toEqual([]);
});

test('what was read once costs no time of the event loop while an earlier transaction is open', async () => {
  const open = await postgres.transaction();
  await change(open, 'open', 1);
  await change(postgres, 'many', 50_000);
  expect(await idsRead()).toHaveLength(50_000);
  const before = performance.eventLoopUtilization();
  for (let read = 0; read < 10; read++) expect(await idsRead()).toEqual([]);
  const { active } = performance.eventLoopUtilization(before);
  await open.rollback();
  expect(active).toBeLessThan(200);
});

test('after a pause in which changes may have been deleted, anything may have changed', async () => {
  const paused = new ChangeReader(url, { pauseMsMax: 50 });
  await paused.read();
  await postgres.raw('select pg_sleep(0.1)');
  expect(await paused.read()).toBeUndefined();
  paused.reset();
  // One that reads more often knows what has changed.
  await idsRead();
  await postgres.raw('select pg_sleep(0.1)');
  expect(await reader.read()).toEqual([]);
});

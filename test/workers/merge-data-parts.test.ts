import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { mergeDataParts } from '../../src/domains/spans/merge-data-parts.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import { until } from '../support/until.ts';

let redis: Redis;
let clickhouse: ClickHouse;
/** A month of its own, which no other test has spans in. */
const month = '2031-03';
const projectId = `prj_${randomUUID()}`;
let inserted = 0;

beforeAll(async () => {
  redis = connectWorkerRedis(inject('redisUrl'));
  clickhouse = connectClickHouse(inject('shardUrls')[0] ?? '');
});
afterAll(async () => {
  await clickhouse.command({
    query: 'ALTER TABLE spans DROP PARTITION ID {id:String}',
    query_params: { id: month.replace('-', '') },
  });
  redis.disconnect();
  await clickhouse.close();
});

/** Of the same few spans, so that a merge has something to drop. */
async function insertParts(count: number, spans = 4): Promise<void> {
  for (let part = 0; part < count; part++) {
    const received_at = `${month}-02 00:00:${10 + inserted++}`;
    const values = [{ project_id: projectId, span_id: `span-0${String(part % spans).padStart(2, '0')}`, received_at }];
    await clickhouse.insert({
      table: 'spans',
      values,
      columns: ['project_id', 'span_id', 'received_at'],
      format: 'JSONEachRow',
    });
  }
}

async function counts(table = 'spans', id = month.replace('-', '')): Promise<{ parts: number; rows: number }> {
  const result = await clickhouse.query({
    query: `SELECT count()::Float64 AS parts, sum(rows)::Float64 AS rows FROM system.parts
            WHERE active AND table = {table:String} AND partition_id = {id:String}`,
    query_params: { table, id },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ parts: number; rows: number }>();
  if (row === undefined) throw new Error('A sum is always one row');
  return row;
}

/**
 * With a queue of its own, in which nothing else waits; the partition is at rest when nothing has
 * come for so many seconds.
 */
async function merge(queueName: string, restS = 3_600, quickMax = 2 ** 29): Promise<void> {
  const ingest = [connectQueue(queueName, redis)];
  const logger = createLogger({ level: 'error', name: 'test' });
  const { signal } = new AbortController();
  await mergeDataParts({ shards: [clickhouse], ingest, stopping: signal, logger }, { restS, quickMax });
}

test('many parts stay as they are while a body waits, and are merged once none does', async () => {
  const name = `ingest-of-${randomUUID()}`;
  const queue = connectQueue(name, redis);
  await insertParts(12);
  const before = await counts();
  expect(before.parts).toBeGreaterThan(8);
  const job = await queue.add('ingestBody', {});
  await merge(name);
  expect(await counts()).toEqual(before);
  await job.remove();
  await merge(name);
  const after = await counts();
  expect(after.parts).toBeLessThanOrEqual(8);
  // Rows of one span that were replaced go with it.
  expect(after.rows).toBeLessThan(before.rows);
});

test('some parts stay as they are while spans come, and are merged down to three once the partition rests', async () => {
  await insertParts(5);
  const before = await counts();
  expect(before.parts).toBeGreaterThan(3);
  await merge(`ingest-of-${randomUUID()}`);
  expect(await counts()).toEqual(before);
  await merge(`ingest-of-${randomUUID()}`, 0);
  expect((await counts()).parts).toBeLessThanOrEqual(3);
});

test('a table that is not of spans keeps many parts while rows come, and is merged once it rests', async () => {
  const table = `resting_${randomUUID().replaceAll('-', '')}`;
  // The engine merges by itself only from 60 parts on.
  const settings = 'SETTINGS merge_selector_base = 60';
  await clickhouse.command({ query: `CREATE TABLE ${table} (n UInt8) ENGINE = MergeTree ORDER BY n ${settings}` });
  try {
    for (let part = 0; part < 12; part++)
      await clickhouse.insert({ table, values: [{ n: part }], format: 'JSONEachRow' });
    const before = await counts(table, 'all');
    expect(before.parts).toBeGreaterThan(8);
    await merge(`ingest-of-${randomUUID()}`);
    expect(await counts(table, 'all')).toEqual(before);
    await merge(`ingest-of-${randomUUID()}`, 0);
    const after = await counts(table, 'all');
    expect(after.parts).toBeLessThanOrEqual(3);
    expect(after.rows).toBe(12);
  } finally {
    await clickhouse.command({ query: `DROP TABLE ${table}` });
  }
});

test('very many parts are merged a few at a time, so that no merge has a row of each in memory', async () => {
  const others = (await counts()).parts;
  await insertParts(40, 40);
  await merge(`ingest-of-${randomUUID()}`);
  const result = await clickhouse.query({
    query: `SELECT max(rows)::Float64 AS most, count()::Float64 AS parts FROM system.parts
            WHERE active AND table = 'spans' AND partition_id = {id:String} AND level = 1`,
    query_params: { id: month.replace('-', '') },
    format: 'JSONEachRow',
  });
  const [merged] = await result.json<{ most: number; parts: number }>();
  expect(merged?.parts).toBeGreaterThan(0);
  expect(merged?.most).toBeLessThanOrEqual(16);
  expect(others).toBeLessThanOrEqual(8);
  await until('few parts', 30_000, async () => {
    await merge(`ingest-of-${randomUUID()}`);
    return (await counts()).parts <= 8;
  });
});

test('small parts beside a large one are merged without it', async () => {
  const table = `beside_${randomUUID().replaceAll('-', '')}`;
  const settings = 'SETTINGS merge_selector_base = 60';
  await clickhouse.command({ query: `CREATE TABLE ${table} (n UInt64) ENGINE = MergeTree ORDER BY n ${settings}` });
  const levelOfLarge = `SELECT max(level)::Float64 AS level FROM system.parts
    WHERE active AND table = '${table}' AND rows >= 6000000`;
  try {
    const asOnePart = 'SETTINGS max_threads = 1, max_block_size = 6000000, min_insert_block_size_rows = 6000000';
    await clickhouse.command({ query: `INSERT INTO ${table} SELECT rand64() FROM numbers(6000000) ${asOnePart}` });
    for (let part = 0; part < 12; part++)
      await clickhouse.insert({ table, values: [{ n: part }], format: 'JSONEachRow' });
    await until('few parts', 30_000, async () => {
      await merge(`ingest-of-${randomUUID()}`, 0, 1_000_000);
      return (await counts(table, 'all')).parts <= 4;
    });
    expect(await allRows(clickhouse, levelOfLarge)).toEqual([{ level: 0 }]);
  } finally {
    await clickhouse.command({ query: `DROP TABLE ${table}` });
  }
});

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { boundMerges } from '../../src/domains/spans/bound-merges.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { wordsLeftOutKey } from '../../src/stores/redis/names.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import { until } from '../support/until.ts';

let clickhouse: ClickHouse;
let redis: Redis;
let table: string;
beforeAll(() => {
  redis = connectWorkerRedis(inject('redisUrl'));
  clickhouse = connectClickHouse(inject('shardUrls')[0] ?? '', { requestTimeoutMs: 120_000 });
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
});
beforeEach(async () => {
  table = `words_${randomUUID().replaceAll('-', '')}`;
  await clickhouse.command({
    query: `CREATE TABLE ${table} (id UInt64, input String,
              INDEX search_words input TYPE text(tokenizer = 'splitByNonAlpha'))
            ENGINE = ReplacingMergeTree ORDER BY id SETTINGS merge_selector_base = 60`,
  });
});
afterEach(() => clickhouse.command({ query: `DROP TABLE ${table}` }));

/** Inserts as many parts, each with one text of a million words. No word is there twice. */
async function insertWords(parts: number): Promise<void> {
  for (let part = 0; part < parts; part++) {
    const words = `arrayMap(at -> hex(toUInt64(at + 1000000 * ${part})), range(1000000))`;
    await clickhouse.command({
      query: `INSERT INTO ${table} SELECT ${part}, arrayStringConcat(${words}, ' ')`,
      clickhouse_settings: { exclude_materialize_skip_indexes_on_insert: 'search_words' },
    });
  }
}

const bound = (bounds: { memoryMax?: number; partsMax?: number } = {}) =>
  boundMerges(
    { shards: [clickhouse], redis, logger: pino({ level: 'silent' }) },
    { table, memoryMax: 100_000_000, partsMax: 10, restS: 3_600, ...bounds },
  );
const optimize = () => clickhouse.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
const state = async () => {
  const [found] = await allRows<{ parts: number; indexed: number }>(
    clickhouse,
    `SELECT count()::UInt32 AS parts, countIf(secondary_indices_compressed_bytes > 0)::UInt32 AS indexed FROM system.parts
     WHERE active AND database = currentDatabase() AND table = '${table}'`,
  );
  return found;
};

describe('after a merge of texts whose words are all different', () => {
  test('merges leave out the index, and the words are found', { timeout: 120_000 }, async () => {
    await insertWords(2);
    let isOver = false;
    const merging = optimize().finally(() => {
      isOver = true;
    });
    await until('the merge has ended', 100_000, async () => {
      await bound({ memoryMax: 50_000_000 });
      return isOver;
    });
    await merging;
    await optimize();
    expect(await state()).toEqual({ parts: 1, indexed: 0 });
    const withWord = (word: number) =>
      allRows(clickhouse, `SELECT id::UInt32 AS id FROM ${table} WHERE hasToken(input, hex(toUInt64(${word})))`);
    expect(await withWord(1_000_007)).toEqual([{ id: 1 }]);
    expect(await withWord(3_000_007)).toEqual([]);
  });
});

describe('a table with very many data parts', () => {
  test('is merged without the index, and with it again after the pause', async () => {
    for (let part = 0; part < 12; part++) {
      await clickhouse.insert({ table, values: [{ id: part, input: 'two words' }], format: 'JSONEachRow' });
    }
    await bound({ partsMax: 12 });
    await optimize();
    expect(await state()).toEqual({ parts: 1, indexed: 1 });
    await clickhouse.insert({ table, values: [{ id: 20, input: 'two words' }], format: 'JSONEachRow' });
    await bound({ partsMax: 1 });
    await optimize();
    expect(await state()).toEqual({ parts: 1, indexed: 0 });
    await bound();
    await redis.del(wordsLeftOutKey(`${table}:0`));
    await bound();
    await clickhouse.insert({ table, values: [{ id: 21, input: 'two words' }], format: 'JSONEachRow' });
    await optimize();
    expect(await state()).toEqual({ parts: 1, indexed: 1 });
  });
});

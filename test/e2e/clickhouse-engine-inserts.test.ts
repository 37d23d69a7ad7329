import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { type ClickHouseClient, drainStream } from '@clickhouse/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  allRows,
  type EmbeddedClickHouse,
  onlyValue,
  quietClient,
  startEmbeddedClickHouse,
} from '../support/embedded-clickhouse.ts';

let embedded: EmbeddedClickHouse;
let client: ClickHouseClient;

beforeAll(async () => {
  embedded = await startEmbeddedClickHouse();
  client = embedded.client;
});
afterAll(() => embedded.stop());

/** Every kind of column the product's tables have. */
const COLUMNS = `
  id UInt64, label LowCardinality(String), at DateTime64(6, 'UTC'), maybe Nullable(Float64), kind Enum8('llm' = 1, 'tool' = 2),
  tags Array(LowCardinality(String)), attributes Map(LowCardinality(String), String), raw FixedString(4), body String,
  doubled UInt64 DEFAULT id * 2`;
const SENT = 'id, label, at, maybe, kind, tags, attributes, raw, body';
const DEDUP = 'SETTINGS non_replicated_deduplication_window = 100';

beforeEach(async () => {
  await client.command({ query: `CREATE OR REPLACE TABLE t (${COLUMNS}) ENGINE = MergeTree ORDER BY id ${DEDUP}` });
});

/** Rows of `t` as the engine itself writes them: the reference for what an insert may change, which is nothing. */
const REFERENCE = `
  SELECT toUInt64(number) AS id, toLowCardinality(concat('l', toString(number % 3))) AS label,
    toDateTime64('2026-01-02 03:04:05.678901', 6, 'UTC') + number AS at, if(number % 2 = 0, NULL, number / 3) AS maybe,
    CAST(if(number % 2 = 0, 'llm', 'tool'), 'Enum8(\\'llm\\' = 1, \\'tool\\' = 2)') AS kind,
    CAST([concat('t', toString(number)), 'é\\0'], 'Array(LowCardinality(String))') AS tags,
    CAST(map('k\\n', toString(number), '', '\\n\\n'), 'Map(LowCardinality(String), String)') AS attributes,
    toFixedString('ab', 4) AS raw, repeat(char(number % 256), number % 50) AS body
  FROM numbers`;

async function bytesOf(query: string): Promise<Buffer> {
  return buffer((await client.exec({ query })).stream);
}

async function send(query: string, body: Buffer, settings: Record<string, string> = {}): Promise<void> {
  const { stream } = await client.exec({ query, values: Readable.from([body]), clickhouse_settings: settings });
  await drainStream(stream);
}

const count = async (table = 't') => Number(await onlyValue(client, `SELECT count() FROM ${table}`));
const spooled = () => readdir(join(embedded.dataDir, 'spool'));

describe('formats', () => {
  test.each(['RowBinary', 'Native', 'RowBinaryWithNamesAndTypes', 'JSONCompactEachRow', 'TabSeparated', 'Parquet'])(
    'rows sent as %s are read back the same, defaults filled in',
    async (format) => {
      const settings = format === 'Parquet' ? ' SETTINGS output_format_parquet_enum_as_byte_array = 1' : '';
      await send(
        `INSERT INTO t (${SENT}) FORMAT ${format}`,
        await bytesOf(`${REFERENCE}(3000) FORMAT ${format}${settings}`),
      );
      expect(await bytesOf(`SELECT ${SENT} FROM t ORDER BY id FORMAT RowBinary`)).toEqual(
        await bytesOf(`${REFERENCE}(3000) FORMAT RowBinary`),
      );
      expect(await onlyValue(client, 'SELECT sum(doubled) = 2 * sum(id) FROM t')).toBe('1');
    },
  );

  test('client.insert takes objects as JSONEachRow and tells how many rows were written', async () => {
    const values = [
      { id: '18446744073709551615', body: 'blank\n\nline; DROP TABLE t', tags: ['x'], attributes: { a: "b'c" } },
      { id: '1', body: '\u0000', maybe: 1.5 },
    ];
    const { summary, executed } = await client.insert({ table: 't', values, format: 'JSONEachRow' });
    expect(executed).toBe(true);
    expect(summary).toMatchObject({ written_rows: '2' });
    expect(
      await allRows(client, 'SELECT toString(id) AS id, body, tags, attributes, maybe FROM t ORDER BY t.id'),
    ).toEqual([
      { id: '1', body: '\u0000', tags: [], attributes: {}, maybe: 1.5 },
      { ...values[0], maybe: null },
    ]);
  });

  test('client.insert takes arrays as JSONCompactEachRow for named columns', async () => {
    await client.insert({ table: 't', values: [[7, 'seven']], columns: ['id', 'body'], format: 'JSONCompactEachRow' });
    expect(await allRows(client, 'SELECT id, body, doubled FROM t')).toEqual([{ id: 7, body: 'seven', doubled: 14 }]);
  });

  test('rows written in the statement itself are taken whole, line breaks, quotes and semicolons included', async () => {
    await client.command({ query: "INSERT INTO t (id, body) VALUES (1, 'a\n\nb;''c'), (2, concat('d', 'e'))" });
    await client.command({ query: 'INSERT INTO t (id, body) FORMAT JSONEachRow {"id":3,"body":"f"}\n\n{"id":4}' });
    expect(await onlyValue(client, 'SELECT groupArray(body) FROM (SELECT body FROM t ORDER BY id)')).toBe(
      "['a\\n\\nb;\\'c','de','f','']",
    );
  });

  test('INSERT .. SELECT with bound parameters runs', async () => {
    await client.command({
      query: 'INSERT INTO t (id) SELECT number FROM numbers({n:UInt32})',
      query_params: { n: 12 },
    });
    expect(await count()).toBe(12);
  });

  test('a gzipped body is unpacked', async () => {
    const gzipping = quietClient(embedded.server.url, true);
    await gzipping.insert({
      table: 't',
      values: Array.from({ length: 5000 }, (_, id) => ({ id })),
      format: 'JSONEachRow',
    });
    await gzipping.close();
    expect(await count()).toBe(5000);
  });
});

describe('one INSERT is one block', () => {
  test.each(['RowBinary', 'JSONEachRow'])('50,000 rows of 1.5 KB in %s become one part', async (format) => {
    const wide = `SELECT number AS id, repeat(hex(number), intDiv(1500, length(hex(number)))) AS body FROM numbers(50000) FORMAT ${format}`;
    await send(`INSERT INTO t (id, body) FORMAT ${format}`, await bytesOf(wide));
    expect(await count()).toBe(50_000);
    const parts = "SELECT count() FROM system.parts WHERE table = 't' AND database = 'default' AND active";
    expect(await onlyValue(client, parts)).toBe('1');
  });

  test('a row that cannot be parsed, the last of many, keeps all of them out', async () => {
    const lines = Array.from({ length: 20_000 }, (_, id) => JSON.stringify({ id })).join('\n');
    await expect(send('INSERT INTO t FORMAT JSONEachRow', Buffer.from(`${lines}\n{"id":"x"}\n`))).rejects.toThrow(
      /parse/i,
    );
    expect(await count()).toBe(0);
    expect(await spooled()).toEqual([]);
  });

  test('binary rows that end in the middle of one keep all of them out', async () => {
    const rows = await bytesOf(`${REFERENCE}(1000) FORMAT RowBinary`);
    const insert = send(`INSERT INTO t (${SENT}) FORMAT RowBinary`, rows.subarray(0, rows.length - 1));
    await expect(insert).rejects.toMatchObject({ code: expect.stringMatching(/^(32|33)$/) });
    expect(await count()).toBe(0);
  });
});

describe('deduplication', () => {
  const block = () => bytesOf(`${REFERENCE}(1000) FORMAT RowBinary`);
  const insert = `INSERT INTO t (${SENT}) FORMAT RowBinary`;

  test('the same block under the same token is written once, in the table and in what a view derives', async () => {
    await client.command({
      query: `CREATE TABLE sums (k UInt8, n UInt64) ENGINE = SummingMergeTree ORDER BY k ${DEDUP}`,
    });
    await client.command({
      query: 'CREATE MATERIALIZED VIEW mv TO sums AS SELECT 1 AS k, count() AS n FROM t GROUP BY k',
    });
    for (let i = 0; i < 3; i += 1) await send(insert, await block(), { insert_deduplication_token: 'one' });
    expect([await count(), await onlyValue(client, 'SELECT sum(n) FROM sums')]).toEqual([1000, '1000']);
    await send(insert, await block(), { insert_deduplication_token: 'two' });
    expect([await count(), await onlyValue(client, 'SELECT sum(n) FROM sums')]).toEqual([2000, '2000']);
    await client.command({ query: 'DROP TABLE mv' });
    await client.command({ query: 'DROP TABLE sums' });
  });

  test('the same block under the same token, sent ten times at once, is written once', async () => {
    const rows = await block();
    await Promise.all(Array.from({ length: 10 }, () => send(insert, rows, { insert_deduplication_token: 'same' })));
    expect(await count()).toBe(1000);
  });

  test('a token holds for async_insert too', async () => {
    const settings = { insert_deduplication_token: 'async', async_insert: '1', wait_for_async_insert: '1' };
    for (let i = 0; i < 2; i += 1) await send(insert, await block(), settings);
    expect(await count()).toBe(1000);
  });
});

describe('bodies that break off', () => {
  const path = `/?query=${encodeURIComponent('INSERT INTO t (id) FORMAT JSONEachRow')}`;
  const complete = Buffer.from('{"id":1}\n{"id":2}\n');

  test.each([
    ['shorter than its Content-Length', { 'Content-Length': String(complete.length + 100) }],
    ['in chunks without the last', { 'Transfer-Encoding': 'chunked' }],
  ])('one %s writes nothing', async (_name, headers) => {
    const outgoing = request(`${embedded.server.url}${path}`, { method: 'POST', headers });
    outgoing.on('error', () => undefined);
    outgoing.write(complete);
    await vi.waitFor(async () => expect(await spooled()).toHaveLength(1));
    outgoing.destroy();
    await vi.waitFor(async () => expect(await spooled()).toEqual([]));
    expect(await count()).toBe(0);
  });

  test('a gzip stream without its end writes nothing and is an error', async () => {
    const cut = gzipSync(complete).subarray(0, -9);
    const response = await fetch(`${embedded.server.url}${path}`, {
      method: 'POST',
      body: cut,
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(response.ok).toBe(false);
    expect(await response.text()).toMatch(/^Code: \d+\. DB::Exception: /);
    expect(await count()).toBe(0);
  });

  test('an INSERT received whole goes on when its client has gone', async () => {
    const outgoing = request(`${embedded.server.url}${path}`, { method: 'POST' });
    outgoing.on('error', () => undefined);
    outgoing.end(complete);
    await once(outgoing, 'finish');
    outgoing.socket?.end();
    await vi.waitFor(async () => expect(await count()).toBe(2));
  });
});

test('inserts and selects at once all succeed', async () => {
  const rows = await bytesOf(`${REFERENCE}(500) FORMAT RowBinary`);
  const inserts = Array.from({ length: 20 }, (_, i) =>
    send(`INSERT INTO t (${SENT}) FORMAT RowBinary`, rows, { insert_deduplication_token: `block ${i}` }),
  );
  const selects = Array.from({ length: 40 }, () => count());
  await Promise.all(inserts);
  for (const seen of await Promise.all(selects)) expect(seen % 500).toBe(0);
  expect(await count()).toBe(10_000);
});

import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type ClickHouseClient, ClickHouseError, type ClickHouseSettings, TupleParam } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  allRows,
  type EmbeddedClickHouse,
  onlyValue,
  quietClient,
  startEmbeddedClickHouse,
} from '../support/embedded-clickhouse.ts';

let embedded: EmbeddedClickHouse;
let client: ClickHouseClient;
let url: string;

beforeAll(async () => {
  embedded = await startEmbeddedClickHouse();
  client = embedded.client;
  url = embedded.server.url;
});
afterAll(() => embedded.stop());

const CROSS_JOIN = 'SELECT sum(sipHash64(a.number, b.number)) FROM numbers(1000000) a, numbers(1000000) b';

async function failureOf(promise: Promise<unknown>): Promise<ClickHouseError> {
  const error = await promise.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ClickHouseError)) throw error;
  return error;
}

/** Statements running beside the one that asks. */
async function runningOthers(): Promise<number> {
  return Number(
    await onlyValue(client, "SELECT count() FROM system.processes WHERE query NOT LIKE '%system.processes%'"),
  );
}

describe('reading', () => {
  test('a ping, by its own path and by a select, succeeds', async () => {
    expect(await client.ping()).toEqual({ success: true });
    expect(await client.ping({ select: true })).toEqual({ success: true });
  });

  test.each([
    ['JSONEachRow', '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'],
    ['JSONCompactEachRow', '[1, "x"]\n[2, "y"]\n'],
    ['JSONCompactEachRowWithNames', '["a", "b"]\n[1, "x"]\n[2, "y"]\n'],
    ['CSVWithNames', '"a","b"\n1,"x"\n2,"y"\n'],
    ['TabSeparated', '1\tx\n2\ty\n'],
  ] as const)('a result in %s has that format', async (format, expected) => {
    const result = await client.query({
      query: "SELECT * FROM values('a UInt8, b String', (1, 'x'), (2, 'y'))",
      format,
    });
    expect(await result.text()).toBe(expected);
    expect(result.response_headers['x-clickhouse-format']).toBe(format);
  });

  test('a result in JSON carries names, types and the row count', async () => {
    const result = await client.query({ query: 'SELECT 1 AS a', format: 'JSON' });
    expect(await result.json()).toMatchObject({ meta: [{ name: 'a', type: 'UInt8' }], data: [{ a: 1 }], rows: 1 });
  });

  test('a binary result reaches exec byte for byte', async () => {
    const { stream } = await client.exec({ query: "SELECT toUInt16(258), 'é\\0\\n' FORMAT RowBinary" });
    expect(await buffer(stream)).toEqual(Buffer.from([2, 1, 4, 0xc3, 0xa9, 0, 10]));
  });

  test('64-bit integers stay exact when quoted', async () => {
    const result = await client.query({
      query: 'SELECT toUInt64(18446744073709551615) AS u, toInt64(-9223372036854775808) AS i',
      format: 'JSONEachRow',
      clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
    });
    expect(await result.json()).toEqual([{ u: '18446744073709551615', i: '-9223372036854775808' }]);
  });

  test('the answer names query id, format and timezone as a server does', async () => {
    const result = await client.query({ query: 'SELECT 1', query_id: 'my-query', format: 'JSONEachRow' });
    expect(result.query_id).toBe('my-query');
    expect(result.response_headers).toMatchObject({
      'x-clickhouse-query-id': 'my-query',
      'x-clickhouse-format': 'JSONEachRow',
      'x-clickhouse-timezone': await onlyValue(client, 'SELECT timezone()'),
    });
    await result.text();
  });

  test('a statement without a result, SHOW and EXPLAIN work like a select', async () => {
    await client.command({ query: 'CREATE TABLE shown (a UInt8) ENGINE = Memory' });
    expect(await onlyValue(client, "SHOW TABLES LIKE 'shown'")).toBe('shown');
    expect(await onlyValue(client, 'EXPLAIN SELECT 1')).toContain('ReadFrom');
  });

  test('the database of the client is the one unqualified names are looked up in', async () => {
    await client.command({ query: 'CREATE DATABASE `od``d name`' });
    const result = await fetch(`${url}/?database=${encodeURIComponent('od`d name')}&query=SELECT+currentDatabase()`);
    expect(await result.text()).toBe('od`d name\n');
  });

  test('a gzipped answer is sent to a client that asks for one, and the plain bytes are the same', async () => {
    const query = encodeURIComponent('SELECT number FROM numbers(300000)');
    const asked = await fetch(`${url}/?enable_http_compression=1&query=${query}`, {
      headers: { 'Accept-Encoding': 'gzip' },
    });
    const plain = await fetch(`${url}/?query=${query}`, { headers: { 'Accept-Encoding': 'gzip' } });
    expect(asked.headers.get('content-encoding')).toBe('gzip');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await asked.text()).toBe(await plain.text());
  });

  test('a result far larger than the memory allowed for it streams through', async () => {
    const before = await peakMemoryBytes(embedded.server.pid);
    const { stream } = await client.exec({
      query: "SELECT repeat('x', 99) FROM numbers(6000000) FORMAT TSV SETTINGS max_block_size = 8192",
    });
    let bytes = 0;
    for await (const chunk of stream) bytes += chunk.length;
    expect(bytes).toBe(600_000_000);
    expect((await peakMemoryBytes(embedded.server.pid)) - before).toBeLessThan(250_000_000);
  });
});

/** The process's highest resident memory so far; only Linux tells. */
async function peakMemoryBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'VmHWM: 0 kB');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

describe('bound parameters', () => {
  const text = 'it\'s "quoted" \\ back\\slash \t tab \n line \0 nul é 😀 {x:String} `tick`';

  test.each<[string, string, unknown, string]>([
    ['a string of every awkward character', 'hex({p:String})', text, Buffer.from(text).toString('hex').toUpperCase()],
    ['an empty string', "{p:String} = ''", '', '1'],
    ['an array of strings', "{p:Array(String)} = ['a\\'b', 'c\\\\d', 'é\\n']", ["a'b", 'c\\d', 'é\n'], '1'],
    ['an empty array', 'length({p:Array(UInt64)})', [], '0'],
    ['a 64-bit integer', '{p:UInt64}', 18446744073709551615n, '18446744073709551615'],
    [
      'a date with milliseconds',
      "toString({p:DateTime64(3, 'UTC')})",
      new Date('2026-02-03T04:05:06.789Z'),
      '2026-02-03 04:05:06.789',
    ],
    ['microseconds as text', "{p:DateTime64(6, 'UTC')}", '2026-02-03 04:05:06.789012', '2026-02-03 04:05:06.789012'],
    ['a null', 'isNull({p:Nullable(String)})', null, '1'],
    ['a boolean', '{p:Bool}', true, 'true'],
    ['a map', "{p:Map(String, UInt8)}['k']", { k: 7 }, '7'],
    ['a tuple', 'tupleElement({p:Tuple(UInt8, String)}, 2)', new TupleParam([1, "o'k"]), "o\\'k"],
    ['an identifier', '{p:Identifier} FROM (SELECT 5 AS col)', 'col', '5'],
  ])('%s arrives as it was sent', async (_name, expression, value, expected) => {
    const result = await client.query({
      query: `SELECT ${expression}`,
      format: 'TabSeparated',
      query_params: { p: value },
    });
    expect((await result.text()).slice(0, -1)).toBe(expected);
  });

  test('parameters sent as a form, for they are too long for a URL, arrive too', async () => {
    const parts = Array.from({ length: 10 }, (_, i) => [`p${i}`, 'x'.repeat(128 * 1024)] as const);
    const result = await client.query({
      query: `SELECT ${parts.map(([name]) => `length({${name}:String})`).join(' + ')} AS n`,
      format: 'JSONEachRow',
      query_params: Object.fromEntries(parts),
      use_multipart_params: true,
    });
    expect(await result.json()).toEqual([{ n: 10 * 128 * 1024 }]);
  });

  test('a parameter over 128 KiB is refused, as by a real server', async () => {
    const refused = client.query({
      query: 'SELECT length({p:String}) AS n',
      format: 'JSONEachRow',
      query_params: { p: 'x'.repeat(128 * 1024 + 1) },
    });
    await expect(refused).rejects.toThrow(/Field value too long/);
  });

  test('parameters of queries that run at the same time do not mix', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const result = await client.query({
          query: 'SELECT {p:UInt32} AS p',
          format: 'JSONEachRow',
          query_params: { p: i },
        });
        return result.json<{ p: number }>();
      }),
    );
    expect(answers).toEqual(Array.from({ length: 40 }, (_, i) => [{ p: i }]));
  });

  test('a missing or unparsable parameter is the error of a server', async () => {
    expect(await failureOf(client.query({ query: 'SELECT {p:UInt8}' }))).toMatchObject({ code: '456' });
    const unparsable = client.query({ query: 'SELECT {p:UInt8}', query_params: { p: 'abc' } });
    expect(await failureOf(unparsable)).toMatchObject({ code: '457', type: 'BAD_QUERY_PARAMETER' });
  });
});

describe('settings', () => {
  test('a setting holds for its query and for no later one', async () => {
    const read = (settings: ClickHouseSettings) =>
      client.query({
        query: "SELECT getSetting('max_block_size')",
        format: 'TabSeparated',
        clickhouse_settings: settings,
      });
    const first = await (await read({})).text();
    const answers = await Promise.all(
      Array.from({ length: 24 }, async (_, i) => (await read(i % 2 === 0 ? { max_block_size: '77' } : {})).text()),
    );
    expect(answers).toEqual(Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? '77\n' : first)));
  });

  test('SET and USE leave nothing behind for the next query', async () => {
    await client.command({ query: 'SET max_block_size = 5' });
    await client.command({ query: 'USE system' });
    expect(await onlyValue(client, "SELECT getSetting('max_block_size') != 5, currentDatabase()")).toBe('1\tdefault');
  });

  test('an unknown setting is error 115', async () => {
    const query = client.query({ query: 'SELECT 1', clickhouse_settings: { no_such_setting: 1 } });
    expect(await failureOf(query)).toMatchObject({ code: '115', type: 'UNKNOWN_SETTING' });
  });

  test('max_execution_time stops a query', async () => {
    const query = client.query({ query: CROSS_JOIN, clickhouse_settings: { max_execution_time: 0.2 } });
    expect(await failureOf(query)).toMatchObject({ code: '159', type: 'TIMEOUT_EXCEEDED' });
  });

  test('settings that only the HTTP interface knows are taken', async () => {
    const settings = { wait_end_of_query: 1, send_progress_in_http_headers: 1 } as const;
    const result = await client.query({ query: 'SELECT 1', format: 'TabSeparated', clickhouse_settings: settings });
    expect(await result.text()).toBe('1\n');
  });
});

describe('errors', () => {
  test.each([
    ['SELECT nope', 404, '47', 'UNKNOWN_IDENTIFIER'],
    ['SELECT * FROM nowhere', 404, '60', 'UNKNOWN_TABLE'],
    ['SELECT * FROM', 400, '62', 'SYNTAX_ERROR'],
    ['SELECT 1; SELECT 2', 400, '62', 'SYNTAX_ERROR'],
    ['', 400, '62', 'SYNTAX_ERROR'],
    ['SELECT throwIf(1)', 500, '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
    ['SELECT 1 FORMAT Nonsense', 404, '73', 'UNKNOWN_FORMAT'],
    ['INSERT INTO nowhere FORMAT JSONEachRow {"a":1}', 404, '60', 'UNKNOWN_TABLE'],
  ])('%s is answered as a server does', async (query, status, code, type) => {
    const response = await fetch(`${url}/`, { method: 'POST', body: query });
    const body = await response.text();
    expect([response.status, response.headers.get('x-clickhouse-exception-code')]).toEqual([status, code]);
    expect(body).toMatch(
      new RegExp(`^Code: ${code}\\. DB::Exception: [\\s\\S]+ \\(${type}\\) \\(version [\\d.]+\\)\\n$`),
    );
  });

  test('an error after the first rows have been sent reaches the reader of the stream', async () => {
    // The row that fails waits, because the client cannot read an error that is cut by the end of a
    // read of the socket.
    const result = await client.query({
      query: `SELECT if(number = 2000000, throwIf(sleepEachRow(1) = 0), 0) FROM numbers(2000001)
        SETTINGS max_threads = 1, short_circuit_function_evaluation = 'force_enable'`,
      format: 'JSONEachRow',
    });
    let rows = 0;
    const read = async () => {
      for await (const part of result.stream()) rows += part.length;
    };
    expect(await failureOf(read())).toMatchObject({ code: '395' });
    expect(rows).toBeGreaterThan(0);
  });

  test('a result that breaks off in the middle never looks whole', async () => {
    const query = 'SELECT throwIf(number = 2000000) FROM numbers(4000000) SETTINGS max_threads = 1';
    const response = await fetch(`${url}/`, { method: 'POST', body: query });
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  test('with wait_end_of_query a late error still has its own status', async () => {
    const query = 'SELECT throwIf(number = 2000000) FROM numbers(4000000) SETTINGS max_threads = 1';
    const response = await fetch(`${url}/?wait_end_of_query=1`, { method: 'POST', body: query });
    expect([response.status, response.headers.get('x-clickhouse-exception-code')]).toEqual([500, '395']);
    await response.text();
  });

  test('GET changes nothing', async () => {
    const response = await fetch(
      `${url}/?query=${encodeURIComponent('CREATE TABLE by_get (a UInt8) ENGINE = Memory')}`,
    );
    expect(response.headers.get('x-clickhouse-exception-code')).toBe('164');
    expect(await onlyValue(client, 'EXISTS TABLE by_get')).toBe('0');
  });

  test('an unknown path is 404 and an unknown Content-Encoding an error that names it', async () => {
    expect((await fetch(`${url}/nowhere`)).status).toBe(404);
    const body = { method: 'POST', body: 'SELECT 1', headers: { 'Content-Encoding': 'lzma' } };
    const response = await fetch(`${url}/`, body);
    expect(await response.text()).toContain('Unknown compression method: lzma');
  });
});

describe('several at once', () => {
  test('a query that plans for long keeps neither ping nor other queries waiting', async () => {
    const slow = onlyValue(client, 'SELECT (SELECT sleep(2))');
    const startedAt = performance.now();
    await vi.waitFor(async () => expect(await runningOthers()).toBe(1));
    expect(await client.ping()).toEqual({ success: true });
    expect(await onlyValue(client, 'SELECT 1')).toBe('1');
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    await slow;
  });

  test('more selects than sessions do not keep an INSERT waiting, and all of them end', async () => {
    await client.command({ query: 'CREATE TABLE beside (a UInt8) ENGINE = MergeTree ORDER BY a' });
    let endedSelects = 0;
    const many = quietClient(url);
    const selects = Array.from({ length: 9 }, async () => {
      await onlyValue(many, 'SELECT sleep(1)');
      endedSelects += 1;
    });
    await vi.waitFor(async () => expect((await fetch(`${url}/ping`)).status).toBe(200));
    await client.insert({ table: 'beside', values: [{ a: 1 }], format: 'JSONEachRow' });
    expect(endedSelects).toBe(0);
    await Promise.all(selects);
    await many.close();
    expect(endedSelects).toBe(9);
  });

  test('a client that leaves takes its cross join with it', async () => {
    const leaving = new AbortController();
    const query = client.query({ query: CROSS_JOIN, abort_signal: leaving.signal }).catch(() => 'left');
    await vi.waitFor(async () => expect(await runningOthers()).toBe(1));
    leaving.abort();
    expect(await query).toBe('left');
    await vi.waitFor(async () => expect(await runningOthers()).toBe(0), { timeout: 2_000 });
  });

  test('a client that stops reading a stream frees its session', async () => {
    const endless = await client.exec({ query: 'SELECT number FROM system.numbers FORMAT RowBinary' });
    endless.stream.once('error', () => undefined);
    endless.stream.destroy();
    await vi.waitFor(async () => expect(await runningOthers()).toBe(0), { timeout: 2_000 });
    expect(await allRows(client, 'SELECT 1 AS a')).toEqual([{ a: 1 }]);
  });
});

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { toProblem } from '../../../src/http/problem.ts';
import { type ClickHouse, connectClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { readRows } from '../../../src/stores/clickhouse/statements.ts';

let clickhouse: ClickHouse;

beforeAll(() => {
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
});
afterAll(() => clickhouse.close());

test.each([
  ['runs out of time', { max_execution_time: 1 }, 503, 'query_timeout'],
  ['would read too many rows', { max_rows_to_read: '1000' }, 413, 'query_too_large'],
])('a read that %s is a problem that says so', async (_, settings, status, code) => {
  const query = 'SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))';
  const read = readRows(clickhouse, { query, clickhouse_settings: settings, format: 'JSONEachRow' });
  const error = await read.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(toProblem(error, { requestId: 'r', instance: '/' })).toMatchObject({ status, code });
});

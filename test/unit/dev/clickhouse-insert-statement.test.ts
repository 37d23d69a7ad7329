import { expect, test } from 'vitest';
import { insertFromFile, parseInsert } from '../../../dev/clickhouse/insert-statement.ts';

function rewritten(sql: string): string | undefined {
  const insert = parseInsert(Buffer.from(sql).toString('latin1'));
  return insert === undefined ? undefined : insertFromFile(insert, '/f').replace(/\s+/g, ' ');
}

function dataOf(sql: string): string | undefined {
  const insert = parseInsert(Buffer.from(sql).toString('latin1'));
  return insert && Buffer.from(sql).subarray(insert.dataStart).toString();
}

test.each([
  ['INSERT INTO t FORMAT RowBinary\n', "INSERT INTO t FROM INFILE '/f' FORMAT RowBinary"],
  ['insert into db.t (a, `fo``rmat`) values (1)', "insert into db.t (a, `fo``rmat`) FROM INFILE '/f' FORMAT Values"],
  ['INSERT INTO format FORMAT CSV 1', "INSERT INTO format FROM INFILE '/f' FORMAT CSV"],
  ['INSERT INTO db.values VALUES (1)', "INSERT INTO db.values FROM INFILE '/f' FORMAT Values"],
  [
    "INSERT INTO t SETTINGS a = 'FORMAT X' FORMAT CSV\n1",
    "INSERT INTO t FROM INFILE '/f' SETTINGS a = 'FORMAT X' FORMAT CSV",
  ],
  [
    '/* SELECT */ INSERT INTO TABLE t -- FORMAT A\n FORMAT TSV\n',
    "/* SELECT */ INSERT INTO TABLE t -- FORMAT A FROM INFILE '/f' FORMAT TSV",
  ],
  [
    "INSERT INTO FUNCTION null('a UInt8') FORMAT TSV 1",
    "INSERT INTO FUNCTION null('a UInt8') FROM INFILE '/f' FORMAT TSV",
  ],
  ['INSERT INTO tablé FORMAT TSV 1', "INSERT INTO tablé FROM INFILE '/f' FORMAT TSV"],
])('%j is told to read a file', (sql, expected) => {
  expect(rewritten(sql)).toBe(expected);
});

test.each([
  'INSERT INTO t SELECT 1',
  'INSERT INTO t (a) WITH 1 AS x SELECT x FORMAT Null',
  "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
  "SELECT 'INSERT INTO t VALUES'",
  'CREATE TABLE t (a UInt8) ENGINE = Memory',
  'INSERT INTO t',
  '',
])('%j carries no rows', (sql) => {
  expect(parseInsert(sql)).toBeUndefined();
});

test.each([
  ['INSERT INTO t FORMAT RowBinary\n\n\0', '\n\0'],
  ['INSERT INTO t FORMAT RowBinary \t\r\n\r\n', '\r\n'],
  ['INSERT INTO t VALUES (1)', '(1)'],
  ['INSERT INTO tablé FORMAT JSONEachRow {"a":"é"}', '{"a":"é"}'],
])('the rows of %j begin after blanks and one line break', (sql, expected) => {
  expect(dataOf(sql)).toBe(expected);
});

import { expect, test } from 'vitest';
import { field, pick, plain, rowReader } from '../../../src/stores/clickhouse/row-reader.ts';

const fields = {
  id: plain<string>('lower(hex(id))'),
  at: field('at', BigInt as (json: string) => bigint),
  name: plain<string>('name'),
};

test('a reader selects and decodes its fields in one order, whatever comes after them', () => {
  const reader = rowReader(pick(fields, ['name', 'at']));
  expect(reader.columns).toBe('name, at');
  expect(reader.decode(['a', '18446744073709551615', 'not selected by the reader'])).toEqual({
    name: 'a',
    at: 18_446_744_073_709_551_615n,
  });
});

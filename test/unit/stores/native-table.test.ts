import { randomBytes } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { TooLargeError } from '../../../src/lib/errors.ts';
import { array, column, text, texts, uint32 } from '../../../src/stores/clickhouse/native-columns.ts';
import { NativeTable } from '../../../src/stores/clickhouse/native-table.ts';

interface Row {
  name: string;
  count: number;
  tags: string[];
}

const newTable = () =>
  new NativeTable<Row>({
    name: column(text, (row) => row.name),
    count: column(uint32, (row) => row.count),
    tags: array(texts, (row) => row.tags),
  });

const row = (name: string, count = 0, tags: string[] = []): Row => ({ name, count, tags });
const mebibyte = 1024 * 1024;

test('a text of more than a third of what rows may have is written', () => {
  const { bytes } = newTable().encode([row('x'.repeat(90 * mebibyte))]);
  expect(bytes.length).toBeGreaterThan(90 * mebibyte);
});

test('large rows leave no memory behind, nor do rows that are too large; small ones leave what the next need', () => {
  const tags = array(texts, (row: Row) => row.tags);
  const name = column(text, (row: Row) => row.name);
  const table = new NativeTable<Row>({ name, tags });
  const kept = () => [...name.streams, ...tags.streams].map(({ writer }) => writer.bytes().buffer.byteLength);
  const initially = kept();
  table.encode([row('x'.repeat(2 * mebibyte), 1, ['y'.repeat(3 * mebibyte), 'z'])]);
  expect(kept()).toEqual(initially);
  const long = 'x'.repeat(90 * mebibyte);
  expect(() => table.encode([row(long), row(long), row(long)])).toThrow(TooLargeError);
  expect(kept()).toEqual(initially);
  expect(table.encode([row('a', 1, ['b'])]).bytes).toEqual(Buffer.from('\x01a\x01\0\0\0\x01b', 'latin1'));
  table.encode([row('x'.repeat(10_000))]);
  expect(kept()[0]).toBeGreaterThan(10_000);
});

describe('a block', () => {
  it('has the bytes of the format, offsets counted over all parts', () => {
    const table = newTable();
    const parts = [table.encode([row('a', 1, ['x', 'y'])]), table.encode([row('b', 2), row('', 3, ['z'])])];
    expect(Buffer.concat([...table.block(parts)]).toString('latin1')).toBe(
      [
        '\x03\x03',
        '\x04name\x06String\x01a\x01b\x00',
        '\x05count\x06UInt32\x01\0\0\0\x02\0\0\0\x03\0\0\0',
        '\x04tags\x0dArray(String)\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01x\x01y\x01z',
      ].join(''),
    );
  });

  it('of several long and short values is the same in however many chunks, none over a mebibyte', () => {
    const table = newTable();
    const names = [70_000, 3, 2_500_000, 65_536, 0, 1_048_576].map((length) => randomBytes(length).toString('latin1'));
    const whole = [...table.block([table.encode(names.map((name) => row(name)))])];
    const apart = [...table.block(names.map((name) => table.encode([row(name)])))];
    expect(Math.max(...[...whole, ...apart].map((chunk) => chunk.length))).toBeLessThanOrEqual(mebibyte);
    expect(Buffer.concat(apart).equals(Buffer.concat(whole))).toBe(true);
  });

  it('that is large passes its values on without copying them', () => {
    const table = newTable();
    const part = table.encode([row('x'.repeat(8 * mebibyte))]);
    const chunks = [...table.block([part])];
    const shared = chunks.filter(({ buffer }) => buffer === part.bytes.buffer);
    expect(shared.reduce((sum, chunk) => sum + chunk.length, 0)).toBeGreaterThan(8 * mebibyte);
  });

  it('keeps its bytes while the next one is made', () => {
    const table = newTable();
    const first = [...table.block([table.encode([row('first', 1, ['mine'])])])];
    const before = Buffer.concat(first);
    for (const chunk of table.block([table.encode([row('other', 2, ['ours'])])])) expect(chunk).toBeDefined();
    expect(Buffer.concat(first).equals(before)).toBe(true);
  });
});

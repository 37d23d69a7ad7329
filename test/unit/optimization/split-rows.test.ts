import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type KeyedRow,
  placeOf,
  type RowInput,
  rowKeyOf,
  type SplitSizes,
  splitRows as splitPlaces,
} from '../../../src/domains/optimization/split-rows.ts';
import { validationRowsFor } from '../../../src/domains/prompt-search/search/choose-rows.ts';

const salt = 'prm_1';
const sizes = { holdoutFraction: 0.3, holdoutMax: 100, valMax: 24 };

const keyed = (row: RowInput): KeyedRow => ({ ...row, key: rowKeyOf(row.inputs) });
const rowsOf = (count: number, more: (index: number) => Partial<RowInput> = () => ({})) =>
  Array.from({ length: count }, (_, index) => keyed({ inputs: { n: index }, ...more(index) }));
const splitRows = (rows: readonly KeyedRow[], prompt: string, bounds: SplitSizes) =>
  splitPlaces(
    rows.map((row) => placeOf(row, prompt)),
    bounds,
  );
const keysOf = (rows: readonly { key: string; split: string }[], split: string) =>
  rows.filter((row) => row.split === split).map(({ key }) => key);
const countsOf = (rows: readonly { key: string; split: string }[]) => ({
  train: keysOf(rows, 'train').length,
  val: keysOf(rows, 'val').length,
  holdout: keysOf(rows, 'holdout').length,
});

describe('rowKeyOf', () => {
  test('does not depend on the order of fields, and does on their values', () => {
    expect(rowKeyOf({ a: 1, b: { c: 2, d: 3 } })).toBe(rowKeyOf({ b: { d: 3, c: 2 }, a: 1 }));
    expect(rowKeyOf({ a: 1 })).not.toBe(rowKeyOf({ a: '1' }));
  });
});

test.each([
  [60, 8],
  [150, 8],
  [400, 20],
  [500, 25],
  [2_000, 60],
  [null, 60],
])('a search with %s calls can use %s validation rows', (callsMax, rows) => {
  expect(validationRowsFor(callsMax)).toBe(rows);
});

describe('splitRows', () => {
  test('6 to 19 rows have no holdout, and half of them validate', () => {
    expect(countsOf(splitRows(rowsOf(6), salt, sizes).rows)).toEqual({ train: 3, val: 3, holdout: 0 });
    expect(countsOf(splitRows(rowsOf(19), salt, sizes).rows)).toEqual({ train: 10, val: 9, holdout: 0 });
  });

  test('20 rows have 8 to 10 of them in the holdout, whatever their hashes', () => {
    for (let seed = 0; seed < 200; seed++) {
      const { holdout } = countsOf(splitRows(rowsOf(20), `prm_${seed}`, sizes).rows);
      expect(holdout).toBeGreaterThanOrEqual(8);
      expect(holdout).toBeLessThanOrEqual(10);
    }
  });

  test('many rows are divided by about 40, 30 and 30 %, with 100 in the holdout at most', () => {
    const { holdout, val } = countsOf(splitRows(rowsOf(200), salt, { ...sizes, valMax: 60 }).rows);
    expect(holdout).toBeGreaterThan(45);
    expect(holdout).toBeLessThan(75);
    expect(val).toBe(60);
    const all = splitRows(rowsOf(1_000), salt, sizes);
    expect(countsOf(all.rows)).toMatchObject({ holdout: 100, val: 24 });
    expect(all.rows.length + all.unused).toBe(1_000);
  });

  test('a row of the holdout stays there when rows are added, whatever the order', () => {
    const few = splitRows(rowsOf(100), salt, sizes).rows;
    const many = splitRows(rowsOf(160).reverse(), salt, sizes).rows;
    expect(keysOf(many, 'holdout')).toEqual(expect.arrayContaining(keysOf(few, 'holdout')));
  });

  test('a row that only fills up the holdout may be a training row when rows are added', () => {
    const trained = Array.from({ length: 50 }, (_, index) => `prm_${index}`).flatMap((prompt) => {
      const hidden = new Set(keysOf(splitRows(rowsOf(20), prompt, sizes).rows, 'holdout'));
      const later = new Set(keysOf(splitRows(rowsOf(100), prompt, sizes).rows, 'train'));
      return rowsOf(20)
        .filter(({ key }) => hidden.has(key) && later.has(key))
        .map((row) => placeOf(row, prompt).at);
    });
    expect(trained.length).toBeGreaterThan(0);
    expect(Math.min(...trained)).toBeGreaterThanOrEqual(sizes.holdoutFraction);
  });

  test('a row that is in the holdout by its hash never becomes another when the limits have no room for it', () => {
    const all = keysOf(splitRows(rowsOf(120), salt, sizes).rows, 'holdout');
    const { rows, unused } = splitRows(rowsOf(120), salt, { ...sizes, holdoutMax: 10 });
    expect(keysOf(rows, 'holdout')).toHaveLength(10);
    expect(unused).toBe(all.length - 10);
    expect(all.filter((key) => keysOf(rows, 'train').includes(key) || keysOf(rows, 'val').includes(key))).toEqual([]);
  });

  test('another prompt divides the same rows differently', () => {
    const [a, b] = [salt, 'prm_2'].map((each) => keysOf(splitRows(rowsOf(100), each, sizes).rows, 'holdout'));
    expect(a).not.toEqual(b);
  });

  test('every label with a few rows is in each of the three', () => {
    const labels = ['common', 'common', 'common', 'common', 'rare'];
    for (let seed = 0; seed < 50; seed++) {
      const rows = rowsOf(60, (index) => ({ expected: labels[index % 5] }));
      const split = splitRows(rows, `prm_${seed}`, sizes).rows;
      for (const name of ['train', 'val', 'holdout']) {
        const found = split.filter((row) => row.split === name).map(({ expected }) => expected);
        expect(found, `${name} of seed ${seed}`).toContain('rare');
      }
    }
  });

  test('a split that rows name is kept, and no other rows join it', () => {
    const split = (['train', 'val', 'holdout'] as const).flatMap((name) => Array.from({ length: 10 }, () => name));
    const { rows } = splitRows(
      rowsOf(40, (index) => ({ split: split[index] })),
      salt,
      sizes,
    );
    expect(rows.slice(0, 30).map((row) => row.split)).toEqual(split);
    expect(countsOf(rows)).toEqual({ train: 20, val: 10, holdout: 10 });
  });

  test('rows keep their values, and those that have none get the weight 1', () => {
    const [row] = splitRows([keyed({ inputs: { a: 1 }, expected: 'x', weight: 3, note: 'n' })], salt, sizes).rows;
    expect(row).toEqual({
      key: rowKeyOf({ a: 1 }),
      split: 'train',
      inputs: { a: 1 },
      expected: 'x',
      weight: 3,
      note: 'n',
    });
    expect(splitRows([keyed({ inputs: {} })], salt, sizes).rows[0]).toMatchObject({ weight: 1 });
  });

  test('every row is used once or counted as unused, and the split is a function of the set of rows', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.record({ id: fc.nat(100_000), label: fc.nat(30) }), {
          maxLength: 150,
          selector: ({ id }) => id,
        }),
        fc.nat(50),
        fc.nat(1_000),
        (given, holdoutMax, valMax) => {
          const rows = given.map(({ id, label }) => keyed({ inputs: { id }, expected: label }));
          const bounds = { holdoutFraction: 0.3, holdoutMax: holdoutMax + 8, valMax };
          const split = splitRows(rows, salt, bounds);
          expect(new Set(split.rows.map(({ key }) => key)).size).toBe(split.rows.length);
          expect(split.rows.length + split.unused).toBe(rows.length);
          const counts = countsOf(split.rows);
          expect(counts.val).toBeLessThanOrEqual(valMax);
          expect(counts.holdout).toBeLessThanOrEqual(holdoutMax + 8);
          if (rows.length >= 20) expect(counts.holdout).toBeGreaterThanOrEqual(8);
          const turned = splitRows([...rows].reverse(), salt, bounds).rows;
          const byKey = (list: typeof turned) => new Map(list.map(({ key, split: name }) => [key, name]));
          expect(byKey(turned)).toEqual(byKey(split.rows));
        },
      ),
    );
  });
});

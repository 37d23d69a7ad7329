import { describe, expect, test } from 'vitest';
import { type RowInput, rowKeyOf } from '../../../src/domains/optimization/split-rows.ts';
import { requireFewVariables, scorableRows, usableRows } from '../../../src/domains/optimization/usable-rows.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { watchLoop } from '../../support/loop-delay.ts';

const rowsOf = (count: number, more: (index: number) => Partial<RowInput> = () => ({})): RowInput[] =>
  Array.from({ length: count }, (_, index) => ({
    inputs: { user: { name: `n${index}` } },
    expected: 'x',
    ...more(index),
  }));
const keyed = (rows: readonly RowInput[]) => rows.map((row) => ({ ...row, key: rowKeyOf(row.inputs) }));

describe('usableRows', () => {
  test('rows without a value at the path of a variable are left out, null counts as none', async () => {
    const given = [
      ...rowsOf(8),
      { inputs: { user: {} } },
      { inputs: { user: { name: null } } },
      { inputs: { user: 'n' } },
    ];
    const { rows, dropped, warnings } = await usableRows(given, ['user.name'], oneTurn);
    expect([rows.length, dropped]).toEqual([8, 3]);
    expect(warnings).toEqual([{ code: 'rows_without_variables', message: '3 rows lack user.name and are not used.' }]);
  });

  test('of rows with the same inputs the first is used', async () => {
    const given = [...rowsOf(7), ...rowsOf(2, () => ({ expected: 'later' }))];
    const { rows, dropped, warnings } = await usableRows(given, [], oneTurn);
    const message =
      '2 rows have the inputs of an earlier row and are not used. 2 of them expect another output than the row that is used.';
    expect(warnings).toEqual([{ code: 'duplicate_rows', message }]);
    expect(dropped).toBe(2);
    expect(rows.map(({ expected }) => expected)).toEqual(Array(7).fill('x'));
  });

  test('every missing variable is named, with the first rows that lack it', async () => {
    const refused = usableRows(rowsOf(50), ['a', 'b'], oneTurn);
    await expect(refused).rejects.toMatchObject({ code: 'missing_variables', extra: { missing: ['a', 'b'] } });
    const { errors } = await refused.catch((error) => error);
    expect(errors).toHaveLength(20);
    expect(errors[1]).toMatchObject({ path: 'dataset.rows[0].inputs.b', code: 'missing_variable' });
  });

  test('many rows and variables are compared while other work runs', async () => {
    const required = Array.from({ length: 25_000 }, (_, index) => `v${index}.name`);
    const loop = watchLoop();
    const refused = usableRows(rowsOf(300), required, oneTurn);
    await expect(refused).rejects.toMatchObject({ code: 'missing_variables' });
    expect(loop.stop()).toBeLessThan(200);
  });

  test('expected values of rows with the same inputs are compared while other work runs', async () => {
    const expected = Array.from({ length: 900 }, () => 'word');
    const loop = watchLoop();
    const { dropped } = await usableRows(
      Array.from({ length: 2_000 }, (_, index) => ({ inputs: { a: index % 1_000 }, expected })),
      ['a'],
      oneTurn,
    );
    expect(dropped).toBe(1_000);
    expect(loop.stop()).toBeLessThan(200);
  });

  test('too few rows are refused, with their number', async () => {
    await expect(usableRows(rowsOf(5), [], oneTurn)).rejects.toMatchObject({ code: 'insufficient_data' });
    const twins = usableRows([...rowsOf(3), ...rowsOf(3)], [], oneTurn);
    await expect(twins).rejects.toMatchObject({ code: 'insufficient_data', extra: { rows: 3, minimum: 6 } });
  });
});

describe('requireFewVariables', () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`);

  test('a prompt may require as many variables as a row can have values', () => {
    expect(() => requireFewVariables(numbered(1_000))).not.toThrow();
    expect(() => requireFewVariables(numbered(1_001))).toThrow(
      expect.objectContaining({
        code: 'template_limit',
        message: 'A run takes a prompt with at most 1000 required variables; this one has 1001',
        extra: { budget: 'variables' },
      }),
    );
  });
});

describe('scorableRows', () => {
  const half = (index: number) => (index % 2 === 0 ? { expected: undefined } : {});

  test('rows that no metric can score are left out', () => {
    const { rows, dropped } = scorableRows(keyed(rowsOf(20, half)), [{ type: 'exact_match' }]);
    expect([rows.length, dropped]).toEqual([10, 10]);
  });

  test('a metric that needs nothing keeps them', () => {
    const metrics = [{ type: 'exact_match' }, { type: 'regex', options: { pattern: 'a' } }];
    expect(scorableRows(keyed(rowsOf(20, half)), metrics).dropped).toBe(0);
  });

  test('too few rows say what they lack', () => {
    const rows = keyed(rowsOf(20, () => ({ expected: undefined })));
    expect(() => scorableRows(rows, [{ type: 'numeric' }])).toThrow(
      expect.objectContaining({ code: 'metric_needs_expected', message: expect.stringContaining('numeric') }),
    );
    expect(() => scorableRows(rows, [{ type: 'feedback_avoid' }])).toThrow(
      expect.objectContaining({ code: 'insufficient_data', message: expect.stringContaining('a note') }),
    );
  });
});

import { afterAll, expect, test } from 'vitest';
import { rowKeyOf } from '../../../src/domains/optimization/split-rows.ts';
import { validRows } from '../../../src/domains/optimization/valid-rows.ts';
import { TemplateThreads } from '../../../src/domains/templates/index.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { watchLoop } from '../../support/loop-delay.ts';

const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const rowsOf = (count: number, inputs: (index: number) => Record<string, unknown>) =>
  Array.from({ length: count }, (_, index) => ({ inputs: inputs(index), key: rowKeyOf(inputs(index)) }));
const compiledWith = (inputSchema: Record<string, unknown> | null) => ({
  ...{ placeholders: ['history'], variables: new Map([['a', true]]) },
  content: { inputSchema },
});

test('rows that the schema refuses are left out', async () => {
  const given = rowsOf(10, (index) => ({ a: index < 8 ? index : 'x' }));
  const schema = { properties: { a: { type: 'integer' } } };
  const { rows, dropped, warnings } = await validRows(threads, compiledWith(schema), given, oneTurn);
  expect([rows, dropped]).toEqual([given.slice(0, 8), 2]);
  expect(warnings).toMatchObject([{ code: 'invalid_rows', message: expect.stringContaining('2 rows do not match') }]);
  expect(await validRows(threads, compiledWith(null), given, oneTurn)).toEqual({
    rows: given,
    dropped: 0,
    warnings: [],
  });
});

test('many rows are checked while other work runs', async () => {
  const schema = {
    description: 'x'.repeat(60_000),
    properties: { a: { items: { anyOf: Array.from({ length: 80 }, (_, index) => ({ const: index })) } } },
  };
  const given = rowsOf(1_000, (index) => ({ a: Array.from({ length: 300 }, (_, item) => (item + index) % 80) }));
  await validRows(threads, compiledWith(schema), given.slice(0, 6), oneTurn);
  const loop = watchLoop();
  expect((await validRows(threads, compiledWith(schema), given, oneTurn)).rows).toEqual(given);
  expect(loop.stop()).toBeLessThan(150);
});

import { describe, expect, test } from 'vitest';
import { spanParts } from '../../../src/domains/spans/span-detail.ts';
import { spanFields } from '../../../src/domains/spans/span-fields.ts';
import { spanTable } from '../../../src/domains/spans/span-row.ts';

const columnsIn = (sql: string) => sql.match(/\b[a-z][a-z_]*\b/g) ?? [];

describe('the fields of spans', () => {
  test('read every column that is written', () => {
    const inFields = Object.values(spanFields).flatMap(({ sql }) => columnsIn(sql));
    const inParts = Object.values(spanParts).flatMap((part) => Object.values<string>(part).flatMap(columnsIn));
    const read = new Set([...inFields, ...inParts]);
    expect(spanTable.names.filter((name) => !read.has(name))).toEqual([]);
  });

  test.each([
    ['a root', spanFields.parentSpanId, '0000000000000000', ''],
    ['a child', spanFields.parentSpanId, '00000000000000a1', '00000000000000a1'],
    ['no usage', spanFields.usage, [false, 0, 0, 0, 0, 0, 0], null],
    ['usage of zero', spanFields.usage, [true, 0, 0, 0, 0, 0, 0], expect.objectContaining({ totalTokens: 0 })],
    ['no cost', spanFields.costNanoUsd, ['none', '0'], null],
    ['a cost of zero', spanFields.costNanoUsd, ['reported', '0'], 0n],
    ['a cost above 2^53', spanFields.costNanoUsd, ['computed', '9007199254740993'], 9_007_199_254_740_993n],
    ['no prompt', spanFields.prompt, ['', '', 0, '', '', ''], null],
    [
      'a prompt',
      spanFields.prompt,
      ['prm_1', 'greet', 3, 'v3', 'self', 'k'],
      { id: 'prm_1', name: 'greet', version: 3, rawVersion: 'v3', source: 'self', key: 'k' },
    ],
  ])('of %s are decoded', (_, { decode }, json, value) => {
    expect((decode as (json: unknown) => unknown)(json)).toEqual(value);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoundParameters } from '../../../src/domains/executions/filters/bound-parameters.ts';
import { compileCondition } from '../../../src/domains/executions/filters/compile-condition.ts';
import { parseFilter } from '../../../src/domains/executions/filters/filter-tree.ts';
import { wordsOf } from '../../../src/domains/executions/filters/words.ts';
import { AppError } from '../../../src/lib/errors.ts';
import { parseUsd } from '../../../src/lib/money.ts';
import { anyTree } from '../../support/filter-tree.ts';

function compiled(tree: unknown) {
  const parameters = new BoundParameters();
  const sql = compileCondition(parseFilter(JSON.stringify(tree)), {
    parameters,
    projectId: 'prj',
    spans: { mode: 'candidates' },
  });
  return { sql, values: parameters.values };
}

function faultOf(text: string): { code: string; path: string | undefined } {
  try {
    parseFilter(text);
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, path: error.errors?.[0]?.path };
  }
  throw new Error('It was accepted');
}

describe('a filter', () => {
  test('of any valid shape compiles to SQL whose every parameter is bound', () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        const { sql, values } = compiled(tree);
        const named = [...sql.matchAll(/\{(p\d+):/g)].map((match) => match[1] ?? '');
        expect(new Set(named)).toEqual(new Set(Object.keys(values)));
      }),
    );
  });

  test('never puts what the caller gave into the SQL', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (text, key) => {
        const marked = (part: string) => `<<${part}>>`;
        const { sql, values } = compiled({
          and: [
            { field: 'name', op: 'contains', value: marked(text) },
            { field: `attr.${marked(key)}`, op: 'in', value: [marked(text)] },
          ],
        });
        expect(sql).not.toContain('<<');
        expect(Object.values(values)).toContainEqual(marked(text));
        expect(Object.values(values)).toContainEqual(marked(key));
      }),
    );
  });

  test.each([
    ['', 'filter'],
    ['{', 'filter'],
    ['[]', 'filter'],
    ['null', 'filter'],
    ['{}', 'filter.field'],
    ['{"constructor":1}', 'filter.constructor'],
    ['{"__proto__":[]}', 'filter.__proto__'],
    ['{"and":{}}', 'filter.and'],
    ['{"and":[1]}', 'filter.and[0]'],
    ['{"and":[],"or":[]}', 'filter.and'],
    ['{"not":[]}', 'filter.not'],
    ['{"field":"name","op":"like","value":"x"}', 'filter.op'],
    ['{"field":"name","op":"gt","value":"x"}', 'filter.op'],
    ['{"field":"name","op":"eq","value":"x","extra":1}', 'filter.extra'],
    ['{"field":"name","op":"eq","value":5}', 'filter.value'],
    ['{"field":"name","op":"eq","value":""}', 'filter.value'],
    ['{"field":"name","op":"eq"}', 'filter.value'],
    ['{"field":"name","op":"in","value":"x"}', 'filter.value'],
    ['{"field":"name","op":"in","value":[]}', 'filter.value'],
    ['{"field":"name","op":"in","value":["x",1]}', 'filter.value[1]'],
    ['{"field":"name","op":"exists","value":"yes"}', 'filter.value'],
    ['{"field":"status","op":"eq","value":"OK"}', 'filter.value'],
    ['{"field":"total_tokens","op":"gt","value":"5"}', 'filter.value'],
    ['{"field":"total_tokens","op":"gt","value":1.5}', 'filter.value'],
    ['{"field":"duration_ms","op":"gt","value":-1}', 'filter.value'],
    ['{"field":"started_at","op":"gt","value":"yesterday"}', 'filter.value'],
    ['{"field":"has_error","op":"eq","value":"true"}', 'filter.value'],
    ['{"field":"attr.x","op":"eq","value":null}', 'filter.value'],
    ['{"or":[{"not":{"and":[{"field":"cost","op":"lt","value":[]}]}}]}', 'filter.or[0].not.and[0].value'],
  ])('%s is invalid_filter at %s', (text, path) => {
    expect(faultOf(text)).toEqual({ code: 'invalid_filter', path });
  });

  test.each(['nme', 'attr', 'attr.', '__proto__', 'toString'])('of the field %s is unknown_filter_field', (field) => {
    const text = `{"field":${JSON.stringify(field)},"op":"eq","value":"x"}`;
    expect(faultOf(text)).toEqual({ code: 'unknown_filter_field', path: 'filter.field' });
  });

  test('is bounded in depth and in nodes', () => {
    const leaf = '{"field":"name","op":"eq","value":"x"}';
    const deep = (levels: number) => `${'{"not":'.repeat(levels)}${leaf}${'}'.repeat(levels)}`;
    const wide = (count: number) => `{"or":[${Array(count).fill(leaf).join()}]}`;
    expect(() => parseFilter(deep(7))).not.toThrow();
    expect(faultOf(deep(8)).code).toBe('invalid_filter');
    expect(faultOf(deep(5_000)).code).toBe('invalid_filter');
    expect(() => parseFilter(wide(99))).not.toThrow();
    expect(faultOf(wide(100))).toEqual({ code: 'invalid_filter', path: 'filter.or[99]' });
  });
});

test.each([
  ['Hello, wörld! x_1', ['hello', 'wörld', 'x', '1']],
  ['a A a', ['a']],
  ['日本 語', ['日本', '語']],
  ['!?.', []],
])('the words of "%s" are %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test.each<[unknown, bigint | undefined]>([
  ['1', 1_000_000_000n],
  ['0.000000001', 1n],
  ['12.50', 12_500_000_000n],
  [0.1 + 0.2, 300_000_000n],
  [1e-7, 100n],
  ['0.0000000001', undefined],
  ['-1', undefined],
  [-1, undefined],
  ['1e3', undefined],
  ['', undefined],
  [Number.NaN, undefined],
  [1e21, undefined],
  [null, undefined],
])('%j US dollars are %s nano-dollars', (given, nano) => {
  expect(parseUsd(given)).toBe(nano);
});

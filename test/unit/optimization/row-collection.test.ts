import { expect, test } from 'vitest';
import type { RatedCall } from '../../../src/domains/optimization/from-executions/read-rated-calls.ts';
import { RowCollection } from '../../../src/domains/optimization/from-executions/row-collection.ts';

test('calls of a prompt with very many variables are compared with it in a short time', () => {
  const names = Array.from({ length: 40_000 }, (_, index) => [`v${index}.name`, false] as const);
  const collection = new RowCollection(new Map([...names, ['question', true]]), { feedback: 'any', limit: 1_000 });
  const calls = Array.from({ length: 200 }, (_, index) => ({
    spans: [{ variables: new Map([['question', `${index}`]]), cut: {}, isOfOptimization: false, output: 'x' }],
    said: { score: 1, correction: null, comment: null },
  })) as unknown as RatedCall[];
  const startMs = performance.now();
  for (const call of calls) collection.add(call);
  expect(performance.now() - startMs).toBeLessThan(200);
  expect(collection.rows).toHaveLength(200);
  expect(collection.rows[7]).toEqual({ inputs: { question: '7' }, expected: 'x', weakLabel: true });
});

test('an execution whose row is too long as JSON gives none', () => {
  const collection = new RowCollection(new Map([['question', true]]), { feedback: 'any', limit: 10 });
  const callWith = (question: string) =>
    ({
      spans: [{ variables: new Map([['question', question]]), cut: {}, isOfOptimization: false, output: 'x' }],
      said: { score: 1, correction: null, comment: null },
    }) as unknown as RatedCall;
  // A control character is six characters of JSON.
  for (const question of ['\0'.repeat(45_000), 'x'.repeat(45_000)]) collection.add(callWith(question));
  expect(collection.rows.map(({ inputs }) => inputs)).toEqual([{ question: 'x'.repeat(45_000) }]);
  expect(collection.dropped).toEqual({ too_large: 1 });
});

test('a variable with very many segments is left out, and one with a few is a member', () => {
  const collection = new RowCollection(new Map([['u', true]]), { feedback: 'any', limit: 10 });
  const variables = new Map<string, unknown>([
    ['u', { kept: 1 }],
    [`u${'.a'.repeat(30_000)}`, 'x'],
    ['u.a.b', 2],
    ['u.a.__proto__', 3],
  ]);
  const call = {
    spans: [{ variables, cut: {}, isOfOptimization: false, output: 'x' }],
    said: { score: 1, correction: null, comment: null },
  } as unknown as RatedCall;
  collection.add(call);
  expect(JSON.stringify(collection.rows[0]?.inputs)).toBe('{"u":{"kept":1,"a":{"b":2,"__proto__":3}}}');
});

import { expect, test } from 'vitest';
import { evaluationsToWire } from '../../../src/domains/executions/evaluation.schema.ts';

test('the metadata of an evaluation are answered with all their keys, `__proto__` included', () => {
  const stored = '[{"target":"span","score":1,"metadata":{"__proto__":{"a":1},"b":2}}]';
  const [evaluation] = evaluationsToWire(stored);
  expect(JSON.stringify(evaluation?.metadata)).toBe('{"__proto__":{"a":1},"b":2}');
});

test('an evaluation without metadata has null', () => {
  expect(evaluationsToWire('[{"target":"trace","label":"good"}]')).toMatchObject([{ label: 'good', metadata: null }]);
});

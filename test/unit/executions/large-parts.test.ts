import { describe, expect, test } from 'vitest';
import { LargePartError, requireSmallPart } from '../../../src/domains/executions/large-parts.ts';
import { ownerReader, partText } from '../../../src/domains/executions/span-parts.schema.ts';
import type { SpanDetail, SpanPart } from '../../../src/domains/spans/reads.ts';

const rowWith = (parts: Partial<SpanDetail>) => parts as SpanDetail;
const empties = Array(70_000).fill('{}').join();
const attributes = `[{"key":"k","value":{"arrayValue":{"values":[${empties}]}}}]`;

describe('a span part that takes long to convert is not converted on the main thread:', () => {
  test.each<[string, SpanPart, Partial<SpanDetail>]>([
    ['a nested input', 'input', { input: '['.repeat(100_000) + ']'.repeat(100_000) }],
    ['an output of many values', 'output', { output: `[${empties}]` }],
    ['an attribute of many values', 'attributes', { attributesOther: { a: `{"arrayValue":{"values":[${empties}]}}` } }],
    [
      'many attributes',
      'attributes',
      {
        attributesOther: Object.fromEntries(
          Array.from({ length: 40 }, (_, index) => [
            `a${index}`,
            `{"arrayValue":{"values":[${empties.slice(0, 5_999)}]}}`,
          ]),
        ),
      },
    ],
    ['an event', 'events', { events: `[{"timeUnixNano":"5","name":"","attributes":${attributes}}]` }],
    ['a link', 'links', { links: `[{"traceId":"","spanId":"","attributes":${attributes}}]` }],
    ['a resource', 'resource', { resource: `{"attributes":${attributes}}` }],
    ['a scope', 'scope', { scope: `{"attributes":${attributes}}` }],
  ])('%s', (_what, part, parts) => {
    expect(() => requireSmallPart(rowWith(parts), part)).toThrow(LargePartError);
  });
});

test.each([
  ['a long text', 'a,b[{'.repeat(200_000)],
  ['JSON of long texts', JSON.stringify(Array(1_000).fill({ role: 'user', content: 'a,b[{'.repeat(200) }))],
])('%s is converted on the main thread', (_what, input) => {
  expect(() => requireSmallPart(rowWith({ input }), 'input')).not.toThrow();
});

test('an input with a name of 16,000 characters is answered as text', () => {
  const [short, long] = [15_000, 16_000].map((length) => JSON.stringify({ ['n'.repeat(length)]: 1 }));
  const texts = [short, long].map((input = '') => partText(rowWith({ input }), 'input', ownerReader()));
  expect(texts).toEqual([short, JSON.stringify(long)]);
});

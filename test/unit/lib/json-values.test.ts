import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countJsonTokens, hasAtMostValues } from '../../../src/lib/json-values.ts';

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + valuesOf(each), 1);
}

test('a value has at most as many values as it has, and not one less', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const values = valuesOf(value);
      expect(hasAtMostValues(value, values)).toBe(true);
      expect(hasAtMostValues(value, values - 1)).toBe(false);
    }),
  );
});

test('the tokens counted of JSON are never fewer than its values, whatever its texts hold', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(countJsonTokens(Buffer.from(JSON.stringify(value)))).toBeGreaterThanOrEqual(valuesOf(value));
    }),
  );
});

test.each([
  ['{"a":",,,,[[[["}', 3],
  ['["\\"",",\\\\",1]', 4],
  ['"never ends ,,,', 1],
])('marks within texts do not count: %s', (json, tokens) => {
  expect(countJsonTokens(Buffer.from(json))).toBe(tokens);
});

test('a text of very many escaped quotation marks is counted as fast as one of other escapes', () => {
  const jsonOf = (pair: string) => Buffer.from(`["${pair.repeat(750_000)}"]`);
  const [quotes, slashes] = [jsonOf('\\"'), jsonOf('\\\\')];
  const fastestMs = (json: Buffer) => {
    const times = Array.from({ length: 10 }, () => {
      const startedAtMs = performance.now();
      expect(countJsonTokens(json)).toBe(2);
      return performance.now() - startedAtMs;
    });
    return Math.min(...times);
  };
  expect(fastestMs(quotes) / fastestMs(slashes)).toBeLessThan(4);
});

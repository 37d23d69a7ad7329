import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyValueToJson, attributesFromJson, attributesToJson } from '../../../src/otlp/any-value-json.ts';
import type { AnyValue } from '../../../src/otlp/span.ts';
import * as arbitrary from '../../support/otlp-arbitrary.ts';

describe('attributes as canonical OTLP/JSON', () => {
  it('any attributes come back as they went', () => {
    fc.assert(
      fc.property(arbitrary.attributes, (attributes) => {
        expect(attributesFromJson(attributesToJson(attributes))).toEqual(attributes);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, AnyValue, string]>([
    ['a string with NUL, quote and pair', 'a\u0000"\u{1f600}', '{"stringValue":"a\\u0000\\"\u{1f600}"}'],
    ['a lone surrogate, replaced', '\ud800x', '{"stringValue":"\ufffdx"}'],
    ['a backslash before ud', '\\ud800', '{"stringValue":"\\\\ud800"}'],
    ['a 64-bit integer', 2n ** 63n - 1n, '{"intValue":"9223372036854775807"}'],
    ['the least integer', -(2n ** 63n), '{"intValue":"-9223372036854775808"}'],
    ['a double', 1.5, '{"doubleValue":1.5}'],
    ['a whole double', 3, '{"doubleValue":3}'],
    ['negative zero', -0, '{"doubleValue":-0}'],
    ['not a number', Number.NaN, '{"doubleValue":"NaN"}'],
    ['minus infinity', Number.NEGATIVE_INFINITY, '{"doubleValue":"-Infinity"}'],
    ['the least double', 5e-324, '{"doubleValue":5e-324}'],
    ['a boolean', false, '{"boolValue":false}'],
    ['bytes', new Uint8Array([0, 255]), '{"bytesValue":"AP8="}'],
    ['nothing', null, '{}'],
    ['an empty array', [], '{"arrayValue":{"values":[]}}'],
    ['an array', ['a', null], '{"arrayValue":{"values":[{"stringValue":"a"},{}]}}'],
    [
      'a list',
      new Map([['__proto__', 1n]]),
      '{"kvlistValue":{"values":[{"key":"__proto__","value":{"intValue":"1"}}]}}',
    ],
  ])('%s is written as the standard has it', (_, value, json) => {
    expect(anyValueToJson(value)).toBe(json);
    const [back] = attributesFromJson(`[{"key":"k","value":${json}}]`).values();
    if (value !== '\ud800x') expect(back).toEqual(value);
  });

  it('values nested 100 deep come back, 20,000 deep are refused', () => {
    const nested = (depth: number) => {
      let value: AnyValue = null;
      for (let level = 1; level < depth; level++) value = [value];
      return new Map([['deep', value]]);
    };
    expect(attributesFromJson(attributesToJson(nested(100)))).toEqual(nested(100));
    expect(() => attributesToJson(nested(20_000))).toThrow(expect.objectContaining({ kind: 'malformed' }));
    const text = `[{"key":"deep","value":${'{"arrayValue":{"values":['.repeat(20_000)}${']}}'.repeat(20_000)}}]`;
    expect(() => attributesFromJson(text)).toThrow(expect.objectContaining({ kind: 'malformed' }));
  });

  it('what is no attribute list is malformed', () => {
    for (const text of ['', '"x"', '[5]', '[{"key":5}]', '[{"key":"a","value":{"intValue":"x"}}]'])
      expect(() => attributesFromJson(text)).toThrow(expect.objectContaining({ code: 'malformed_otlp' }));
  });
});

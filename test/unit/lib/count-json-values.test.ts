import { expect, test } from 'vitest';
import { countJsonValues } from '../../../src/lib/count-json-values.ts';
import { longKeyMin } from '../../../src/lib/text-key.ts';

const bounds = { valuesMax: 60_000, depthMax: 500 };
const long = 'n'.repeat(longKeyMin);

test.each([
  ['a name of 16,000 characters', `{"${long}":1}`],
  ['one before white space', `{"a":{"${long}" \n\t: 1}}`],
  ['one with escapes', `{"${'\\"'.repeat(longKeyMin / 2)}":1}`],
  ['too many values', `[${'0,'.repeat(60_000)}0]`],
  ['too deep nesting', '['.repeat(600).padEnd(2_000, ']')],
])('%s is too much to be parsed', (_what, json) => {
  expect(countJsonValues(json, bounds)).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ['texts of any length', { a: long.repeat(60), b: [long, `${long}:`] }, 5],
  ['shorter names', { ['n'.repeat(longKeyMin - 1)]: 1 }, 2],
])('%s are counted as values', (_what, value, count) => {
  expect(countJsonValues(JSON.stringify(value), bounds)).toBe(count);
});

import { expect, test } from 'vitest';
import { retainedBytesOf } from '../../../src/lib/retained-bytes.ts';

test.each([
  ['a long text', { text: 'x'.repeat(100_000) }, 200_000],
  ['a long key', { ['x'.repeat(100_000)]: 1 }, 200_000],
  ['many empty objects', Array.from({ length: 10_000 }, () => ({})), 600_000],
  ['nothing', null, 1],
])('%s is at least as large as it is in memory', (_what, value, bytesMin) => {
  expect(retainedBytesOf(value)).toBeGreaterThanOrEqual(bytesMin);
  expect(retainedBytesOf(value)).toBeLessThan(2 * bytesMin + 200);
});

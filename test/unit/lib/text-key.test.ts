import { expect, test } from 'vitest';
import { longKeyMin, textKey } from '../../../src/lib/text-key.ts';

test('the key of a short text is the text, and that of a long one is short and its own', () => {
  expect(textKey('a'.repeat(longKeyMin - 1))).toBe('a'.repeat(longKeyMin - 1));
  const [one, same, other] = ['1', '1', '2'].map((end) => textKey('a'.repeat(longKeyMin) + end));
  expect(one).toHaveLength(64);
  expect([same === one, other === one]).toEqual([true, false]);
});

test('a set of very many long texts of one length is filled quickly', () => {
  const texts = Array.from({ length: 2_000 }, (_, index) => `漢${'a'.repeat(20_000)}${String(index).padStart(8, '0')}`);
  const beganAtMs = performance.now();
  expect(new Set(texts.map(textKey)).size).toBe(2_000);
  // Without keys it takes four seconds.
  expect(performance.now() - beganAtMs).toBeLessThan(1_000);
});

import { expect, test } from 'vitest';
import { BoundedMemo } from '../../src/lib/bounded-memo.ts';

test('a memo keeps what is asked for while a flood of new keys passes, and forgets the rest', () => {
  const memo = new BoundedMemo<number>(10);
  memo.set('busy', 1);
  memo.set('idle', 2);
  for (let index = 0; index < 1_000; index++) {
    memo.set(`new ${index}`, index);
    expect(memo.get('busy')).toBe(1);
  }
  expect(memo.get('idle')).toBeUndefined();
  const kept = Array.from({ length: 1_000 }, (_, index) => memo.get(`new ${index}`)).filter(
    (value) => value !== undefined,
  );
  expect(kept.length).toBeLessThanOrEqual(20);
});

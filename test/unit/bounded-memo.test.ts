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

test('a memo of sizes keeps no more than twice its bound, and nothing that alone is over it', () => {
  const memo = new BoundedMemo<string>(1_000, 100);
  memo.set('large', 'large', 101);
  expect(memo.get('large')).toBeUndefined();
  for (let index = 0; index < 50; index++) memo.set(`${index}`, 'x', 30);
  const kept = Array.from({ length: 50 }, (_, index) => memo.get(`${index}`)).filter((value) => value !== undefined);
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.length).toBeLessThanOrEqual(6);
});

test('a value that is set again counts once, and replaces one that was larger', () => {
  const memo = new BoundedMemo<number>(1_000, 100);
  for (let index = 0; index < 100; index++) memo.set('same', index, 60);
  memo.set('other', 1, 40);
  expect([memo.get('same'), memo.get('other')]).toEqual([99, 1]);
  memo.set('same', 100, 101);
  expect(memo.get('same')).toBeUndefined();
});

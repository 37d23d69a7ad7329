import { expect, test } from 'vitest';
import { FairTurns } from '../../../src/lib/fair-turns.ts';
import { oneTurn } from '../../../src/lib/pace.ts';

/** Uses the processor for so long. */
function work(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

test('work of a sharer that comes after very much of another begins in the same turn of the event loop', async () => {
  const turns = new FairTurns(100);
  const done: string[] = [];
  for (let count = 0; count < 100; count++) {
    turns.add('busy', () => {
      work(3);
      done.push('busy');
    });
  }
  turns.add('other', () => done.push('other'));
  await oneTurn();
  expect(done.indexOf('other')).toBe(1);
  // Work that is left would never end in a test that holds the clock.
  while (done.length <= 100) await oneTurn();
});

test('a turn of the event loop begins work for a while, and the next ones the rest, in order', async () => {
  const turns = new FairTurns(5);
  const done: number[] = [];
  const all = Array.from({ length: 30 }, (_, index) => index);
  for (const index of all) {
    turns.add('one', () => {
      work(1);
      done.push(index);
    });
  }
  await oneTurn();
  expect(done.length).toBeGreaterThan(0);
  expect(done.length).toBeLessThanOrEqual(6);
  while (done.length < all.length) await oneTurn();
  expect(done).toEqual(all);
});

test('what work leaves to microtasks counts as its time', async () => {
  const turns = new FairTurns(5);
  let done = 0;
  for (let count = 0; count < 30; count++) {
    turns.add('one', async () => {
      await undefined;
      await undefined;
      work(1);
      done++;
    });
  }
  await oneTurn();
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThanOrEqual(6);
  while (done < 30) await oneTurn();
});

test('work that adds work begins it in a later turn', async () => {
  const turns = new FairTurns(5);
  const done: string[] = [];
  turns.add('one', () => {
    turns.add('one', () => done.push('second'));
    done.push('first');
  });
  await oneTurn();
  while (done.length < 2) await oneTurn();
  expect(done).toEqual(['first', 'second']);
});

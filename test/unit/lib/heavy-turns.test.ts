import { expect, test } from 'vitest';
import { inHeavyTurn } from '../../../src/lib/heavy-turns.ts';
import { processCpuMs } from '../../../src/lib/time.ts';
import { until } from '../../support/until.ts';

/** Uses processor time. By the clock, it would use less on a busy machine. */
function busy(ms: number): void {
  const endMs = processCpuMs() + ms;
  while (processCpuMs() < endMs);
}

test('renders of a workspace that take long are taken one by one, and those of another begin at once', async () => {
  let [inThisTurn, inOneTurn] = [0, 0];
  const heavy = () =>
    inHeavyTurn('heavy', () => {
      if (inThisTurn++ === 0) setImmediate(() => (inThisTurn = 0));
      inOneTurn = Math.max(inOneTurn, inThisTurn);
      busy(15);
    });
  await heavy();
  const all = Promise.all(Array.from({ length: 12 }, heavy));
  let isLightDone = false;
  const light = inHeavyTurn('light', () => 'done').then(() => {
    isLightDone = true;
  });
  await light;
  let left = 12;
  void all.then(() => {
    left = 0;
  });
  expect([isLightDone, left]).toEqual([true, 12]);
  await all;
  expect(inOneTurn).toBe(1);
});

test('short renders begin at once, however many', () => {
  let begun = 0;
  for (let at = 0; at < 100; at++) void inHeavyTurn('short', () => begun++);
  expect(begun).toBe(100);
});

test('one long piece among short ones is remembered until its time has passed three times', async () => {
  await inHeavyTurn('mixed', () => busy(25));
  let begun = 0;
  for (let at = 0; at < 5; at++) void inHeavyTurn('mixed', () => begun++);
  expect(begun).toBe(0);
  await until('all have begun', 5_000, () => begun === 5);
  await until('the time has passed', 5_000, async () => {
    const before = begun;
    const done = inHeavyTurn('mixed', () => begun++);
    const isAtOnce = begun > before;
    await done;
    return isAtOnce;
  });
});

test('what the render throws is thrown, and its time counts', async () => {
  const failing = () =>
    inHeavyTurn('failing', () => {
      busy(15);
      throw new Error('too long');
    });
  await expect(failing()).rejects.toThrow('too long');
  let hasBegun = false;
  const next = inHeavyTurn('failing', () => {
    hasBegun = true;
  });
  expect(hasBegun).toBe(false);
  await next;
  expect(hasBegun).toBe(true);
});

test('a render that waits for a processor does not make the next one wait', async () => {
  await inHeavyTurn('waiting', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50));
  let hasBegun = false;
  const next = inHeavyTurn('waiting', () => {
    hasBegun = true;
  });
  expect(hasBegun).toBe(true);
  await next;
});

import { expect, test } from 'vitest';
import { awaitStored } from '../../../src/domains/optimization/record-call.ts';

const clock = { nowMs: () => 1_000 };
const publish = () => Promise.reject(new Error('not here'));

/** Waits for calls of which the queue says these things, one after the other. Returns how many were asked. */
async function askedOf(
  answers: readonly (() => number | undefined)[],
  { signal = new AbortController().signal, msMax = 10_000 } = {},
) {
  let asked = 0;
  const oldestUnfinishedAtMs = async () => (answers[asked++] ?? (() => undefined))();
  await awaitStored({ publisher: { publish, oldestUnfinishedAtMs }, clock }, 'wsp_a', { signal, msMax });
  return asked;
}

test('calls are awaited while a body that is not newer is unfinished', async () => {
  expect(await askedOf([() => 999, () => 1_000, () => 1_001, () => 999])).toBe(3);
});

test('no call is awaited when nothing is unfinished', async () => {
  expect(await askedOf([() => undefined, () => 1])).toBe(1);
});

test('calls are awaited while too many bodies wait to know, but not while the queue cannot be asked', async () => {
  const tooMany = () => {
    throw new RangeError('too many');
  };
  const away = () => {
    throw new Error('away');
  };
  expect(await askedOf([tooMany, away, () => 1])).toBe(2);
});

test('no call is awaited by a worker that stops', async () => {
  expect(await askedOf([() => 1], { signal: AbortSignal.abort() })).toBe(0);
});

test('no call is awaited for longer than the caller allows', async () => {
  expect(await askedOf([() => 1, () => 1], { msMax: 50 })).toBe(1);
});

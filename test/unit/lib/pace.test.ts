import { describe, expect, test, vi } from 'vitest';
import { inSharedTurn, mapInSlices, oneTurn, Pace, runInSlices, sharedThird } from '../../../src/lib/pace.ts';
import { countTurns } from '../../support/count-turns.ts';

const pieceMs = 1;

/** Holds the event loop, as parsing does. */
function work(): void {
  const untilMs = performance.now() + pieceMs;
  while (performance.now() < untilMs);
}

test('works of several sharers on a third of the loop take turns, and leave twice as much time as they take', async () => {
  const slices: string[] = [];
  const begin = (name: string) =>
    mapInSlices(
      Array.from({ length: 30 }, () => name),
      (label) => {
        if (slices.at(-1) !== label) slices.push(label);
        work();
      },
      sharedThird(name),
    );
  const startedAtMs = performance.now();
  await Promise.all(['a', 'b', 'c'].map(begin));
  const tookMs = performance.now() - startedAtMs;
  expect(slices.slice(0, 6)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  // The first slice of each comes at once, the others have their pauses.
  expect(tookMs).toBeGreaterThan(2.4 * 90 * pieceMs);
});

test('a sharer with many works has no more turns than one with a single work', async () => {
  const begun: string[] = [];
  const wait = async (sharer: string) => {
    await sharedThird(sharer)();
    begun.push(sharer);
  };
  const busy = Array.from({ length: 20 }, () => wait('busy'));
  const quiet = wait('quiet').then(() => wait('quiet'));
  await quiet;
  expect(begun.filter((sharer) => sharer === 'busy').length).toBeLessThanOrEqual(3);
  await Promise.all(busy);
  expect(begun).toHaveLength(22);
});

test('a work that ends within its slice does not keep the next one from its turn', async () => {
  const first = sharedThird('a')();
  const second = sharedThird('a')();
  await first;
  await second;
});

test('a process that was stopped during a slice goes on soon', async () => {
  const rest = sharedThird('a');
  await rest();
  const next = rest();
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
  await oneTurn();
  now.mockRestore();
  await next;
});

test('a work that rests for one turn lets what is ready run between its slices', async () => {
  let turns = 0;
  const count = () => {
    turns++;
    if (!done) setImmediate(count);
  };
  let done = false;
  setImmediate(count);
  await mapInSlices(Array.from({ length: 30 }), work, oneTurn);
  done = true;
  expect(turns).toBeGreaterThanOrEqual(4);
});

test('steps run to their end, and what they throw is thrown', async () => {
  function* steps(fails: boolean): Generator<void, string> {
    for (let i = 0; i < 12; i++) {
      work();
      yield;
    }
    if (fails) throw new Error('of the last step');
    return 'made';
  }
  expect(await runInSlices(steps(false), new Pace(sharedThird('a')))).toBe('made');
  await expect(runInSlices(steps(true), new Pace(sharedThird('a')))).rejects.toThrow('of the last step');
});

describe('pieces of work that all begin in one turn', () => {
  const inTurns = (pieces: number, piece: (index: number) => void) =>
    countTurns(() =>
      Promise.all(Array.from({ length: pieces }, (_, index) => inSharedTurn('one', () => piece(index)))),
    );

  test('go on in order and in many turns if they take long', async () => {
    const order: number[] = [];
    const { turns } = await inTurns(32, (index) => {
      order.push(index);
      for (let times = 0; times < 3; times++) work();
    });
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    // Two of 3 ms exceed a turn.
    expect(turns).toBeGreaterThanOrEqual(15);
  });

  test('go on in turn between sharers: one piece does not wait for very many of another sharer', async () => {
    const order: string[] = [];
    const piece = (sharer: string) =>
      inSharedTurn(sharer, () => {
        order.push(sharer);
        for (let times = 0; times < 3; times++) work();
      });
    await Promise.all([...Array.from({ length: 40 }, () => piece('many')), piece('one')]);
    // Those of the first turn began at once.
    expect(order.indexOf('one')).toBeLessThan(6);
    expect(order).toHaveLength(41);
  });

  test('go on in few turns if they take no time', async () => {
    const { turns } = await inTurns(500, () => undefined);
    expect(turns).toBeLessThan(50);
  });
});

import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairTurns } from './fair-turns.ts';

const sliceMs = 3;
/** All work waits for the pause, so a process that was stopped during a slice must not pause for long. */
const pauseMsMax = 200;

/** The pause after a slice of work. Resolves when the next slice may begin. */
export type Rest = () => Promise<void>;

/** Gives other work one turn of the event loop. For work that a caller waits for. */
export const oneTurn: Rest = () => nextTurn();

/** Milliseconds of one turn of the event loop for work {@link inSharedTurn}. */
const sharedTurnMs = 5;
let sharedTurnBeganAtMs: number | undefined;
/** Work for which a turn had no time. */
const laterTurns = new FairTurns(sharedTurnMs);

/**
 * Begins a piece of work when the turn of the event loop has time for it, in turn between sharers and in order within
 * one. It is for work of mostly less than a millisecond, and sometimes 25, that very many callers can begin in the same
 * turn, for example because they wait for the same result. After {@link oneTurn}, all of them would go on in one turn;
 * with a turn for each, short work would wait for many turns. All work of this thread shares it.
 * @param sharer a workspace, or what else shares this thread
 */
export async function inSharedTurn<T>(sharer: string, work: () => T | Promise<T>): Promise<T> {
  const isOver = sharedTurnBeganAtMs !== undefined && performance.now() - sharedTurnBeganAtMs > sharedTurnMs;
  if (isOver || laterTurns.isBusy) {
    await new Promise<void>((resolve) => laterTurns.add(sharer, resolve));
    return work();
  }
  if (sharedTurnBeganAtMs === undefined) {
    sharedTurnBeganAtMs = performance.now();
    setImmediate(() => {
      sharedTurnBeganAtMs = undefined;
    });
  }
  return work();
}

/**
 * Returns a pause for large work. All work with this pause shares a third of the event loop: one
 * slice at a time, then a pause twice as long. Waiting work is served in turn between sharers,
 * which are workspaces, and in order within one. It is for work that a caller can make as large,
 * and send as often, as the limits allow: a request of another workspace needs several turns of the
 * event loop, and a slice may delay each turn. The lanes before it, and the limit of 48 bodies of 1
 * MiB or more, bound the waiting work of one sharer.
 */
export function sharedThird(sharer: string): Rest {
  return () =>
    new Promise((resolve) => {
      const own = waiting.get(sharer);
      if (own === undefined) waiting.set(sharer, [resolve]);
      else own.push(resolve);
      if (!isTicking) setTimeout(beginNext, sliceMs);
      isTicking = true;
    });
}

/**
 * Waiting work by sharer; the sharer that is next comes first. Shared by all work of this thread.
 */
const waiting = new Map<string, (() => void)[]>();
let isTicking = false;

function beginNext(): void {
  const [next] = waiting;
  isTicking = next !== undefined;
  if (next === undefined) return;
  const [sharer, own] = next;
  own.shift()?.();
  waiting.delete(sharer);
  if (own.length > 0) waiting.set(sharer, own);
  // The slice begins after this callback and ends before the next immediate. One timer more than
  // there is work is started, for work that arrives during the slice.
  const beganAtMs = performance.now();
  setImmediate(() => {
    const pauseMs = 2 * Math.max(sliceMs, performance.now() - beganAtMs);
    setTimeout(beginNext, Math.min(pauseMs, pauseMsMax));
  });
}

/**
 * Splits long work on the event loop into slices of about three milliseconds, so that other work
 * runs in between.
 */
export class Pace {
  readonly #rest: Rest;
  #startedAtMs = performance.now();

  constructor(rest: Rest) {
    this.#rest = rest;
  }

  /**
   * Call it between pieces of work of a few milliseconds each. Returns undefined while the slice
   * continues.
   */
  rest(): Promise<void> | undefined {
    if (performance.now() - this.#startedAtMs < sliceMs) return undefined;
    return this.#rest().then(() => {
      this.#startedAtMs = performance.now();
    });
  }
}

/**
 * Does `items.map(map)` at a {@link Pace}, for lists that take longer than other work should wait.
 */
export async function mapInSlices<T, U>(
  items: readonly T[],
  map: (item: T, index: number) => U,
  rest: Rest = oneTurn,
): Promise<U[]> {
  const mapped: U[] = [];
  const pace = new Pace(rest);
  for (const [index, item] of items.entries()) {
    await pace.rest();
    mapped.push(map(item, index));
  }
  return mapped;
}

/** Splits a list into groups of at most so many items and bytes. A larger item is a group of its own. */
export function groupsOf<T extends { bytes: number }>(
  items: readonly T[],
  { bytesMax, lengthMax }: { bytesMax: number; lengthMax: number },
): T[][] {
  const groups: T[][] = [];
  let bytes = 0;
  for (const item of items) {
    const group = groups.at(-1);
    if (group === undefined || group.length === lengthMax || bytes + item.bytes > bytesMax) {
      groups.push([item]);
      bytes = item.bytes;
    } else {
      group.push(item);
      bytes += item.bytes;
    }
  }
  return groups;
}

/**
 * Runs a generator whose steps take a few milliseconds each, and returns its result. Throws what
 * the generator throws.
 */
export async function runInSlices<T>(steps: Iterator<unknown, T>, pace: Pace): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    const resting = pace.rest();
    if (resting !== undefined) await resting;
  }
}

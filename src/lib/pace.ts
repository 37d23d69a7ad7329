import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceMs = 3;

/** What follows a slice of work: resolves when the next one may begin. */
export type Rest = () => Promise<void>;

/** Others on the event loop have one turn: for work that somebody waits for. */
export const oneTurn: Rest = () => nextTurn();

/**
 * All that rests so shares a third of the event loop: one slice at a time, and twice as long a pause after it. Those who wait are served in turn
 * between sharers, which are workspaces, and in order within one. A request of another needs several turns of the loop, each of which a
 * slice may hold up: for work that a caller can make as large, and send as often, as the limits allow. What one sharer may have waiting
 * is bounded by the lanes before it, and by the 48 bodies of a mebibyte or more that it may hold.
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

/** By sharer, the one whose turn is next first; shared by all work of this thread. */
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
  // The slice begins after this callback and is over by the next immediate. Timers go on once more than there is work, for what comes in
  // the slice.
  const beganAtMs = performance.now();
  setImmediate(() => setTimeout(beginNext, 2 * Math.max(sliceMs, performance.now() - beganAtMs)));
}

/** Long work on the event loop in slices of some three milliseconds, between which others have their turn. */
export class Pace {
  readonly #rest: Rest;
  #startedAtMs = performance.now();

  constructor(rest: Rest) {
    this.#rest = rest;
  }

  /** Call it between pieces of work that take few milliseconds each; undefined while the slice goes on. */
  rest(): Promise<void> | undefined {
    if (performance.now() - this.#startedAtMs < sliceMs) return undefined;
    return this.#rest().then(() => {
      this.#startedAtMs = performance.now();
    });
  }
}

/** `items.map(map)` at a {@link Pace}, for lists that take longer than others should wait. */
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

/** What a generator returns, whose steps take few milliseconds each. Throws what it throws. */
export async function runInSlices<T>(steps: Iterator<unknown, T>, pace: Pace): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    const resting = pace.rest();
    if (resting !== undefined) await resting;
  }
}

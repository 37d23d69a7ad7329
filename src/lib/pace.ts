import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

const sliceMs = 5;

/**
 * Long work on the event loop in slices of some five milliseconds, between which others have their turn. A request of another needs
 * several turns, each of which a slice may hold up, so work that few wait for rests for a time as well.
 */
export class Pace {
  readonly #restPerWork: number;
  #startedAtMs = performance.now();

  /** `restPerWork` is how long it rests in the time that it worked: with 0 for one turn, with 1 the event loop is others' half of the time. */
  constructor(restPerWork: number) {
    this.#restPerWork = restPerWork;
  }

  /** Call it between pieces of work that take few milliseconds each; undefined while the slice goes on. */
  rest(): Promise<void> | undefined {
    const workedMs = performance.now() - this.#startedAtMs;
    if (workedMs < sliceMs) return undefined;
    const restMs = Math.min(workedMs, 2 * sliceMs) * this.#restPerWork;
    return (restMs === 0 ? nextTurn() : delay(restMs)).then(() => {
      this.#startedAtMs = performance.now();
    });
  }
}

/** `items.map(map)` at a {@link Pace}, for lists that take longer than others should wait. */
export async function mapInSlices<T, U>(
  items: readonly T[],
  map: (item: T, index: number) => U,
  restPerWork = 0,
): Promise<U[]> {
  const mapped: U[] = [];
  const pace = new Pace(restPerWork);
  for (const [index, item] of items.entries()) {
    await pace.rest();
    mapped.push(map(item, index));
  }
  return mapped;
}

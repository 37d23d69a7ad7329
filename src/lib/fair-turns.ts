/** Work of one sharer, in order. `begun` of it was taken already, and its places are empty. */
interface Own {
  work: ((() => void) | undefined)[];
  begun: number;
}
/** Places that were emptied before a list is shortened, if they are half of it as well. */
const emptiedMin = 1_024;

/**
 * Begins short work for some milliseconds in each turn of the event loop, in turn between sharers and in order within one.
 * Very much work that comes at once then delays neither other work nor that of other sharers. The time contains what
 * work leaves to microtasks, such as all that a request does before it waits for something outside of the process.
 */
export class FairTurns {
  readonly #turnMs: number;
  /** The sharer that is next comes first. */
  readonly #waiting = new Map<string, Own>();
  #isScheduled = false;

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** Whether work waits. */
  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  add(sharer: string, work: () => void): void {
    const own = this.#waiting.get(sharer);
    if (own === undefined) this.#waiting.set(sharer, { work: [work], begun: 0 });
    else own.work.push(work);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(endMs = performance.now() + this.#turnMs): void {
    this.#take()?.();
    if (this.#waiting.size === 0) return;
    // Node runs a tick that a microtask adds after all microtasks that are left, and before the next turn.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (performance.now() <= endMs) this.#begin(endMs);
        else this.#schedule();
      }),
    );
  }

  #take(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [sharer, own] = first;
    const next = own.work[own.begun];
    own.work[own.begun++] = undefined;
    const isLeft = own.begun < own.work.length;
    if (isLeft && own.begun >= emptiedMin && 2 * own.begun >= own.work.length) {
      own.work.splice(0, own.begun);
      own.begun = 0;
    }
    // With one sharer, nothing changes its place.
    if (isLeft && this.#waiting.size === 1) return next;
    this.#waiting.delete(sharer);
    if (isLeft) this.#waiting.set(sharer, own);
    return next;
  }
}

/**
 * Writes that several batchers share. When one ends, the batchers that did not have it are asked first,
 * so that they take turns.
 */
export class WriteSlots {
  #free: number;
  #batchers: (() => void)[] = [];

  /** @param writesMax writes under way at once, of all batchers together */
  constructor(writesMax: number) {
    this.#free = writesMax;
  }

  get isFree(): boolean {
    return this.#free > 0;
  }

  /** Calls `onFree` whenever a write has ended. */
  listen(onFree: () => void): void {
    this.#batchers.push(onFree);
  }

  take(): void {
    this.#free--;
  }

  /** Ends a write of the batcher that listens with `onFree`. */
  release(onFree: () => void): void {
    this.#free++;
    this.#batchers = [...this.#batchers.filter((other) => other !== onFree), onFree];
    for (const next of this.#batchers) next();
  }
}

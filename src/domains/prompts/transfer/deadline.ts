import { TooLargeError } from '../../../lib/errors.ts';
import type { Waiter } from '../../../lib/fair-lane-options.ts';

/** The time limit of an import, which starts when the object is created. It ends earlier when the caller leaves. */
export class Deadline {
  readonly #startedAtMs = performance.now();
  readonly #timeMsMax: number;
  readonly #waiter: Waiter | undefined;

  constructor(timeMsMax: number, waiter?: Waiter) {
    this.#timeMsMax = timeMsMax;
    this.#waiter = waiter;
  }

  /**
   * Checks the time.
   * @throws TooLargeError when the time is up
   * @throws the reason of the caller's signal
   */
  check(): void {
    this.#waiter?.signal.throwIfAborted();
    if (performance.now() - this.#startedAtMs <= this.#timeMsMax) return;
    const seconds = this.#timeMsMax / 1_000;
    throw new TooLargeError(
      'body_too_large',
      `This import takes longer than the limit of ${seconds} s. Divide it into smaller imports with whole items`,
    );
  }
}

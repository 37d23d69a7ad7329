import { TooLargeError } from '../../../lib/errors.ts';

/** The time limit of an import, which starts when the object is created. */
export class Deadline {
  readonly #startedAtMs = performance.now();
  readonly #timeMsMax: number;

  constructor(timeMsMax: number) {
    this.#timeMsMax = timeMsMax;
  }

  /**
   * Checks the time.
   * @throws TooLargeError when the time is up
   */
  check(): void {
    if (performance.now() - this.#startedAtMs <= this.#timeMsMax) return;
    const seconds = this.#timeMsMax / 1_000;
    throw new TooLargeError(
      'body_too_large',
      `This import takes longer than the limit of ${seconds} s. Divide it into smaller imports with whole items`,
    );
  }
}

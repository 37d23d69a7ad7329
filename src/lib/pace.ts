import { setTimeout as delay } from 'node:timers/promises';

const sliceMs = 10;

/**
 * Long work in slices of some ten milliseconds, with as long a rest after each: the event loop is others' half of the time. Whoever
 * works calls `rest` between pieces that take a few milliseconds each.
 */
export class Pace {
  #startedAtMs = performance.now();

  async rest(): Promise<void> {
    const workedMs = performance.now() - this.#startedAtMs;
    if (workedMs < sliceMs) return;
    await delay(Math.min(workedMs, sliceMs));
    this.#startedAtMs = performance.now();
  }
}

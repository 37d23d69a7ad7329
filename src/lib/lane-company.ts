/** A lane counts as shared for this time after two different keys used it. */
const companyMs = 1_000;

/** Records whether one key or several keys use a lane. */
export class LaneCompany {
  #lastKey: string | undefined;
  /** When two different keys last came one after the other. */
  #changedAtMs = Number.NEGATIVE_INFINITY;

  /** Whether more than one key came within the last second. */
  get isShared(): boolean {
    return performance.now() - this.#changedAtMs < companyMs;
  }

  note(key: string): void {
    if (key === this.#lastKey) return;
    if (this.#lastKey !== undefined) this.#changedAtMs = performance.now();
    this.#lastKey = key;
  }
}

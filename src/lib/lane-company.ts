/** Others use a lane for so long after they came. */
const companyMs = 1_000;

/** Who comes to a lane: whether it is one key alone, or several. */
export class LaneCompany {
  #lastKey: string | undefined;
  /** When two keys last came one after the other. */
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

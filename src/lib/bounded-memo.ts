/**
 * What was looked up last, by key, and never more than `2 * entriesMax` of it: when a generation is full the one before it is
 * forgotten, except for what was asked for meanwhile. So no flood of new keys pushes out the busy ones.
 */
export class BoundedMemo<Value> {
  readonly #entriesMax: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get(key: string): Value | undefined {
    const found = this.#young.get(key);
    if (found !== undefined) return found;
    const kept = this.#old.get(key);
    if (kept !== undefined) this.set(key, kept);
    return kept;
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#entriesMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}

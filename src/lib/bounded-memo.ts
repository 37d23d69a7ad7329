/** A value with its size, in the unit of `sizeMax`. */
interface Kept<Value> {
  value: Value;
  size: number;
}

/**
 * A cache of the values used last, by key. It never holds more than `2 * entriesMax` values or
 * twice `sizeMax` of their sizes. When a generation is full, the one before it is dropped, except
 * for the values that were read meanwhile, so many new keys do not push out frequently used ones. A
 * value larger than `sizeMax` is not kept.
 */
export class BoundedMemo<Value> {
  readonly #entriesMax: number;
  readonly #sizeMax: number;
  #young = new Map<string, Kept<Value>>();
  #old = new Map<string, Kept<Value>>();
  #youngSize = 0;

  constructor(entriesMax: number, sizeMax = Number.POSITIVE_INFINITY) {
    this.#entriesMax = entriesMax;
    this.#sizeMax = sizeMax;
  }

  get(key: string): Value | undefined {
    const found = this.#young.get(key);
    if (found !== undefined) return found.value;
    const kept = this.#old.get(key);
    if (kept !== undefined) this.set(key, kept.value, kept.size);
    return kept?.value;
  }

  set(key: string, value: Value, size = 0): void {
    this.#youngSize -= this.#young.get(key)?.size ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
    if (size > this.#sizeMax) return;
    if (this.#young.size >= this.#entriesMax || this.#youngSize + size > this.#sizeMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngSize = 0;
    }
    this.#young.set(key, { value, size });
    this.#youngSize += size;
  }
}

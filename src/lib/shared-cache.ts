/** The entries of one sharer, the least recently used first, and their bytes together. */
interface Own<Value> {
  entries: Map<string, { value: Value; bytes: number }>;
  bytes: number;
}

/**
 * A cache that sharers, which are workspaces, use together. When it is full, the sharer that has the most bytes loses
 * what it has not used for longest. So a sharer that stores ever new values takes no other one's, and a single sharer
 * may use the whole cache.
 */
export class SharedCache<Value> {
  readonly #bytesMax: number;
  readonly #entryBytesMin: number;
  readonly #sharers = new Map<string, Own<Value>>();
  #bytes = 0;

  /** Each entry counts as at least `bytesMax / entriesMax` bytes. */
  constructor({ bytesMax, entriesMax }: { bytesMax: number; entriesMax: number }) {
    this.#bytesMax = bytesMax;
    this.#entryBytesMin = Math.ceil(bytesMax / entriesMax);
  }

  /** Returns a value, which is then the one that was used last. */
  get(sharer: string, key: string): Value | undefined {
    const entries = this.#sharers.get(sharer)?.entries;
    const entry = entries?.get(key);
    if (entry !== undefined) {
      entries?.delete(key);
      entries?.set(key, entry);
    }
    return entry?.value;
  }

  /** Stores a value of so many bytes. */
  set(sharer: string, key: string, value: Value, bytes: number): void {
    this.#remove(sharer, key);
    const entry = { value, bytes: Math.max(bytes, this.#entryBytesMin) };
    const own = this.#sharers.get(sharer) ?? { entries: new Map(), bytes: 0 };
    this.#sharers.set(sharer, own);
    own.entries.set(key, entry);
    own.bytes += entry.bytes;
    this.#bytes += entry.bytes;
    while (this.#bytes > this.#bytesMax) this.#removeOldest();
  }

  #removeOldest(): void {
    let [most, mostBytes] = ['', 0];
    for (const [sharer, { bytes }] of this.#sharers) if (bytes > mostBytes) [most, mostBytes] = [sharer, bytes];
    const [oldest = ''] = this.#sharers.get(most)?.entries.keys() ?? [];
    this.#remove(most, oldest);
  }

  #remove(sharer: string, key: string): void {
    const own = this.#sharers.get(sharer);
    const entry = own?.entries.get(key);
    if (own === undefined || entry === undefined) return;
    own.entries.delete(key);
    own.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (own.entries.size === 0) this.#sharers.delete(sharer);
  }
}

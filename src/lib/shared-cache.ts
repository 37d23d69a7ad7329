interface Entry<Value> {
  sharer: string;
  key: string;
  value: Value;
  bytes: number;
  /** Number of the last use in the cache. */
  used: number;
}

/** The entries of one sharer by key, the least recently used first, and their bytes together. */
interface Own<Value> {
  entries: Map<string, Entry<Value>>;
  bytes: number;
}

/** A sharer with a larger part of a full cache loses its own entries first. */
const shareMax = 0.25;

/**
 * A cache that sharers, which are workspaces, use together. When it is full, it loses what was not used for longest:
 * of the sharer that has the most, if that is more than a quarter, otherwise of all. So a sharer that stores ever new
 * values takes few of the others', and a single one may use the whole cache.
 */
export class SharedCache<Value> {
  readonly #bytesMax: number;
  readonly #entryBytesMin: number;
  readonly #sharers = new Map<string, Own<Value>>();
  #uses = 0;
  #bytes = 0;

  /** Each entry counts as at least `bytesMax / entriesMax` bytes. */
  constructor({ bytesMax, entriesMax }: { bytesMax: number; entriesMax: number }) {
    this.#bytesMax = bytesMax;
    this.#entryBytesMin = Math.ceil(bytesMax / entriesMax);
  }

  /** Returns whether there is a value, which is then not used more recently than before. */
  has(sharer: string, key: string): boolean {
    return this.#sharers.get(sharer)?.entries.has(key) ?? false;
  }

  /** All entries; those that are read may be deleted meanwhile. */
  *entries(): Generator<Pick<Entry<Value>, 'sharer' | 'key' | 'value'>> {
    for (const own of this.#sharers.values()) yield* own.entries.values();
  }

  delete(sharer: string, key: string): void {
    this.#remove(this.#sharers.get(sharer)?.entries.get(key));
  }

  /** Returns a value, which is then the one that was used last. */
  get(sharer: string, key: string): Value | undefined {
    const own = this.#sharers.get(sharer);
    const entry = own?.entries.get(key);
    if (own === undefined || entry === undefined) return undefined;
    if (entry.used < this.#uses) {
      entry.used = ++this.#uses;
      own.entries.delete(key);
      own.entries.set(key, entry);
    }
    return entry.value;
  }

  /** Stores a value of so many bytes, unless it is larger than the cache. */
  set(sharer: string, key: string, value: Value, bytes: number): void {
    this.delete(sharer, key);
    if (bytes > this.#bytesMax) return;
    const entry = { sharer, key, value, bytes: Math.max(bytes, this.#entryBytesMin), used: ++this.#uses };
    const own = this.#sharers.get(sharer) ?? { entries: new Map(), bytes: 0 };
    this.#sharers.set(sharer, own);
    own.entries.set(key, entry);
    own.bytes += entry.bytes;
    this.#bytes += entry.bytes;
    while (this.#bytes > this.#bytesMax) this.#remove(this.#next());
  }

  /** Returns the entry that a full cache loses. */
  #next(): Entry<Value> | undefined {
    let most: Own<Value> | undefined;
    let oldest: Entry<Value> | undefined;
    for (const own of this.#sharers.values()) {
      if (own.bytes > (most?.bytes ?? 0)) most = own;
      const [first] = own.entries.values();
      if (first !== undefined && first.used < (oldest?.used ?? Number.POSITIVE_INFINITY)) oldest = first;
    }
    if (most !== undefined && most.bytes > this.#bytesMax * shareMax) [oldest] = most.entries.values();
    return oldest;
  }

  #remove(entry: Entry<Value> | undefined): void {
    const own = entry && this.#sharers.get(entry.sharer);
    if (entry === undefined || own === undefined) return;
    own.entries.delete(entry.key);
    own.bytes -= entry.bytes;
    if (own.entries.size === 0) this.#sharers.delete(entry.sharer);
    this.#bytes -= entry.bytes;
  }
}

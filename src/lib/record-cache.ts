import { LRUCache } from 'lru-cache';
/** How a {@link RecordCache} loads and for how long its answers hold. */
export interface RecordCacheOptions<T> {
  /** Undefined when there is no such record; rejects while that cannot be said. */
  load: (key: string) => Promise<T | undefined>;
  /** How long a record holds from when its loading began, however often it is used. Asked at every look-up. */
  lifeMs: () => number;
  /** How long nothing is asked again about a key without a record. */
  missingMs: number;
  /** While loading fails the last answer holds for so long from when it was loaded. */
  staleOnErrorMs: number;
  entriesMax: number;
}

interface Entry<T> {
  value: T;
  /** When loading began: what changed later may not be in the value. */
  loadedAtMs: number;
  /** Loaded before something unknown may have changed: to be loaded again, but better than nothing. */
  doubtful: boolean;
  /** After a failed attempt nobody tries again before. */
  retryAtMs: number;
}

/** After a failed attempt, how long the last answer is given without another. */
const retryMs = 800;
const missingMax = 2_000;

/**
 * Records of a database by key, loaded at most once at a time and dropped when they change. A load that began before a change was
 * announced is answered to who waited for it already, and forgotten.
 */
export class RecordCache<T> {
  readonly #options: RecordCacheOptions<T>;
  readonly #entries: LRUCache<string, Entry<T>>;
  /** Apart from the entries, so that a flood of unknown keys displaces none that exists. */
  readonly #missingUntilMs = new LRUCache<string, number>({ max: missingMax });
  readonly #loading = new Map<string, Promise<T | undefined>>();
  #generation = 0;

  constructor(options: RecordCacheOptions<T>) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.entriesMax });
  }

  /** The record, or undefined when there is none. Throws what the loader throws when nothing is remembered. */
  async find(key: string): Promise<T | undefined> {
    const nowMs = performance.now();
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#holds(entry, nowMs)) return entry.value;
    const missingUntilMs = this.#missingUntilMs.get(key);
    if (entry === undefined && missingUntilMs !== undefined && nowMs < missingUntilMs) return undefined;
    return this.#loading.get(key) ?? this.#begin(key);
  }

  /** Whether {@link find} has something to say of the key without a first look-up: a record, though old, or that there is none. */
  knows(key: string): boolean {
    return this.#entries.has(key) || performance.now() < (this.#missingUntilMs.get(key) ?? 0);
  }

  /** Forgets the records that are `affected`, and whatever is being loaded, because that may be one of them. */
  drop(affected: (value: T) => boolean): void {
    this.#forgetLoading();
    for (const [key, { value }] of this.#entries) if (affected(value)) this.#entries.delete(key);
  }

  /** Changes may have gone unnoticed: every record is loaded again before it is used, unless loading fails. */
  doubt(): void {
    this.#forgetLoading();
    for (const entry of this.#entries.values()) entry.doubtful = true;
  }

  #holds(entry: Entry<T>, nowMs: number): boolean {
    return nowMs < entry.retryAtMs || (!entry.doubtful && nowMs - entry.loadedAtMs < this.#options.lifeMs());
  }

  #forgetLoading(): void {
    this.#generation++;
    this.#loading.clear();
    this.#missingUntilMs.clear();
  }

  #begin(key: string): Promise<T | undefined> {
    const loading = this.#load(key).finally(() => {
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    });
    this.#loading.set(key, loading);
    return loading;
  }

  async #load(key: string): Promise<T | undefined> {
    const generation = this.#generation;
    const startedAtMs = performance.now();
    try {
      const value = await this.#options.load(key);
      if (generation === this.#generation) this.#remember(key, value, startedAtMs);
      return value;
    } catch (error) {
      const entry = this.#entries.get(key);
      if (entry === undefined || performance.now() - entry.loadedAtMs > this.#options.staleOnErrorMs) throw error;
      entry.retryAtMs = performance.now() + retryMs;
      return entry.value;
    }
  }

  #remember(key: string, value: T | undefined, loadedAtMs: number): void {
    this.#entries.delete(key);
    if (value === undefined) {
      this.#missingUntilMs.set(key, performance.now() + this.#options.missingMs);
      return;
    }
    this.#entries.set(key, { value, loadedAtMs, doubtful: false, retryAtMs: 0 });
  }
}

import { LRUCache } from 'lru-cache';
import { SharedCache } from './shared-cache.ts';

/** How a {@link RecordCache} loads records, and how long they stay valid. */
export interface RecordCacheOptions<T> {
  /** Loads a record. Resolves to undefined when there is none; rejects while this is unknown. */
  load: (key: string) => Promise<T | undefined>;
  /**
   * How long a record is valid from the start of its loading, however often it is used. Called at
   * every look-up.
   */
  lifeMs: () => number;
  /** How long a key without a record is not loaded again. */
  missingMs: number;
  /** How long after its loading the last record may be used while loading fails. */
  staleOnErrorMs: number;
  entriesMax: number;
  /** Returns who shares the cache with others, usually the workspace of a key. By default, all keys are of one. */
  sharerOf?: (key: string) => string;
  /** Limits the size of all records together, for records that can be large. */
  sizes?: { bytesMax: number; bytesOf: (value: T) => number };
}

interface Entry<T> {
  value: T;
  /** When loading began. The value may lack changes made later. */
  loadedAtMs: number;
  /**
   * Loaded before a possible unknown change. It is loaded again, but is still used while loading
   * fails.
   */
  doubtful: boolean;
  /** After a failed attempt, no new attempt is made before this time. */
  retryAtMs: number;
}

/** How long the last record is used without a new attempt after a failed one. */
const retryMs = 800;
const missingMax = 2_000;

/**
 * Caches database records by key. Loads a key at most once at a time and drops records when they
 * change. The result of a load that began before a change was announced is returned to its waiting
 * callers, but not kept.
 */
export class RecordCache<T> {
  readonly #options: RecordCacheOptions<T>;
  readonly #entries: SharedCache<Entry<T>>;
  /** Separate from the entries, so that many unknown keys do not push out existing records. */
  readonly #missingUntilMs = new LRUCache<string, number>({ max: missingMax });
  readonly #loading = new Map<string, Promise<T | undefined>>();
  #generation = 0;

  constructor(options: RecordCacheOptions<T>) {
    this.#options = options;
    const { entriesMax, sizes } = options;
    this.#entries = new SharedCache({ entriesMax, bytesMax: sizes?.bytesMax ?? entriesMax });
  }

  /**
   * Returns the record, or undefined when there is none. Throws what the loader throws when no
   * record is cached.
   */
  async find(key: string): Promise<T | undefined> {
    const nowMs = performance.now();
    const entry = this.#entries.get(this.#sharerOf(key), key);
    if (entry !== undefined && this.#holds(entry, nowMs)) return entry.value;
    const missingUntilMs = this.#missingUntilMs.get(key);
    if (entry === undefined && missingUntilMs !== undefined && nowMs < missingUntilMs) return undefined;
    return this.#loading.get(key) ?? this.#begin(key);
  }

  /**
   * Returns whether {@link find} can answer without a first look-up: with a record, even an old
   * one, or that there is none.
   */
  knows(key: string): boolean {
    return this.#entries.has(this.#sharerOf(key), key) || performance.now() < (this.#missingUntilMs.get(key) ?? 0);
  }

  /**
   * Drops the records that are `affected`, and the results of loads in progress, because these may
   * be affected too.
   */
  drop(affected: (value: T) => boolean): void {
    this.#forgetLoading();
    for (const { sharer, key, value: entry } of this.#entries.entries()) {
      if (affected(entry.value)) this.#entries.delete(sharer, key);
    }
  }

  /**
   * Call it when changes may have been missed: every record is loaded again before it is used,
   * unless loading fails.
   */
  doubt(): void {
    this.#forgetLoading();
    for (const { value: entry } of this.#entries.entries()) entry.doubtful = true;
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
      const entry = this.#entries.get(this.#sharerOf(key), key);
      if (entry === undefined || performance.now() - entry.loadedAtMs > this.#options.staleOnErrorMs) throw error;
      entry.retryAtMs = performance.now() + retryMs;
      return entry.value;
    }
  }

  #remember(key: string, value: T | undefined, loadedAtMs: number): void {
    const sharer = this.#sharerOf(key);
    this.#entries.delete(sharer, key);
    if (value === undefined) {
      this.#missingUntilMs.set(key, performance.now() + this.#options.missingMs);
      return;
    }
    const bytes = this.#options.sizes?.bytesOf(value) ?? 0;
    this.#entries.set(sharer, key, { value, loadedAtMs, doubtful: false, retryAtMs: 0 }, bytes);
  }

  #sharerOf(key: string): string {
    return this.#options.sharerOf?.(key) ?? '';
  }
}

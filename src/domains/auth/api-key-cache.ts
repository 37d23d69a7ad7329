import type { ApiKeyRecord } from './api-key-record.ts';

const freshMs = 800;
const staleOnErrorMs = 10 * 60_000;
const entriesMax = 20_000;

interface Entry {
  record: ApiKeyRecord | undefined;
  loadedAtMs: number;
  /** Of the last attempt, so that an outage costs a request its wait only now and then. */
  askedAtMs: number;
  loading: Promise<ApiKeyRecord | undefined> | undefined;
}

/**
 * Keys by lookup id, each read from the database at most every 0.8 s, so that a revoked key is refused everywhere within
 * a second. While the database is away the last answer holds: nothing can have been revoked meanwhile.
 */
export class ApiKeyCache {
  readonly #entries = new Map<string, Entry>();
  readonly #load: (lookupId: string) => Promise<ApiKeyRecord | undefined>;

  constructor(load: (lookupId: string) => Promise<ApiKeyRecord | undefined>) {
    this.#load = load;
  }

  /** The key's record or undefined when there is none. Throws what the loader throws when nothing is remembered. */
  async find(lookupId: string): Promise<ApiKeyRecord | undefined> {
    const entry = this.#entries.get(lookupId);
    if (entry !== undefined && entry.loading === undefined && Date.now() - entry.askedAtMs < freshMs)
      return entry.record;
    return entry?.loading ?? this.#refresh(lookupId, entry);
  }

  #refresh(lookupId: string, previous: Entry | undefined): Promise<ApiKeyRecord | undefined> {
    const entry: Entry = previous ?? { record: undefined, loadedAtMs: 0, askedAtMs: 0, loading: undefined };
    entry.loading = this.#reload(lookupId, entry);
    if (previous === undefined) this.#remember(lookupId, entry);
    return entry.loading;
  }

  async #reload(lookupId: string, entry: Entry): Promise<ApiKeyRecord | undefined> {
    try {
      entry.record = await this.#load(lookupId);
      entry.loadedAtMs = Date.now();
    } catch (error) {
      if (Date.now() - entry.loadedAtMs > staleOnErrorMs) {
        this.#entries.delete(lookupId);
        throw error;
      }
    } finally {
      entry.askedAtMs = Date.now();
      entry.loading = undefined;
    }
    return entry.record;
  }

  #remember(lookupId: string, entry: Entry): void {
    if (this.#entries.size >= entriesMax) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    this.#entries.set(lookupId, entry);
  }
}

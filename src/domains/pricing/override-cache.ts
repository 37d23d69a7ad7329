import { LRUCache } from 'lru-cache';
import { within } from '../../lib/within.ts';
import { noOverrides, type PriceOverrides } from './price-overrides.ts';

const freshMs = 1_000;
/** Who has an older answer does not wait for the database longer than this. */
const patienceMs = 500;
const projectsMax = 10_000;

interface Entry {
  overrides: PriceOverrides | undefined;
  /** Of the last attempt, so that an outage costs its wait once in `freshMs`. */
  askedAtMs: number;
  loading: Promise<PriceOverrides> | undefined;
}

/**
 * Own prices by project, each read from the database at most once a second, so that a change is in force within two. While the
 * database is away the last answer holds; of a project without one nothing is assumed.
 */
export class OverrideCache {
  readonly #entries = new LRUCache<string, Entry>({ max: projectsMax });
  readonly #load: (projectId: string) => Promise<PriceOverrides | undefined>;

  constructor(load: (projectId: string) => Promise<PriceOverrides | undefined>) {
    this.#load = load;
  }

  /** Throws what the loader throws when nothing is remembered of the project. */
  async of(projectId: string): Promise<PriceOverrides> {
    const entry = this.#entry(projectId);
    const { overrides } = entry;
    if (overrides !== undefined && performance.now() - entry.askedAtMs < freshMs) return overrides;
    entry.loading ??= this.#reload(projectId, entry);
    if (overrides === undefined) return entry.loading;
    const { loading } = entry;
    return within(patienceMs, () => loading).catch(() => overrides);
  }

  async #reload(projectId: string, entry: Entry): Promise<PriceOverrides> {
    // Before the answer: a change that comes after it was read is then not taken for older than it is.
    const askedAtMs = performance.now();
    try {
      entry.overrides = (await this.#load(projectId)) ?? noOverrides;
      entry.askedAtMs = askedAtMs;
      return entry.overrides;
    } catch (error) {
      entry.askedAtMs = performance.now();
      throw error;
    } finally {
      entry.loading = undefined;
    }
  }

  #entry(projectId: string): Entry {
    const known = this.#entries.get(projectId);
    if (known !== undefined) return known;
    const entry: Entry = { overrides: undefined, askedAtMs: 0, loading: undefined };
    this.#entries.set(projectId, entry);
    return entry;
  }
}

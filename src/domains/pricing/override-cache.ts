import { LRUCache } from 'lru-cache';
import { within } from '../../lib/within.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findModelPrices } from './model-price-store.ts';
import { compileOverrides, noOverrides, type PriceOverrides } from './price-overrides.ts';

const freshMs = 1_000;
/** Maximum wait for Postgres when an older answer is available. */
const patienceMs = 500;
const projectsMax = 10_000;
/** Prices of all cached projects, about 1 KB each. */
const pricesMax = 50_000;

interface Entry {
  overrides: PriceOverrides | undefined;
  /**
   * Start of the last successful load, or end of the last failed one. During an outage, callers
   * wait only once per `freshMs`.
   */
  askedAtMs: number;
  loading: Promise<PriceOverrides> | undefined;
}

/**
 * Caches the own prices of up to 10,000 projects, 50,000 prices together. Each is loaded at most once a second, so a change
 * takes effect within two seconds. While Postgres is unavailable the last answer is used; a project
 * without one gets the error.
 */
export class OverrideCache {
  readonly #entries = new LRUCache<string, Entry>({ max: projectsMax, maxSize: pricesMax });
  readonly #load: (projectId: string) => Promise<PriceOverrides | undefined>;

  constructor(load: (projectId: string) => Promise<PriceOverrides | undefined>) {
    this.#load = load;
  }

  /**
   * Returns the own prices of a project.
   * @throws what the loader throws, when the cache has no prices of the project
   */
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
    // Measured before the load, so that a change made during the load is noticed in time.
    const askedAtMs = performance.now();
    try {
      entry.overrides = (await this.#load(projectId)) ?? noOverrides;
      entry.askedAtMs = askedAtMs;
      let prices = 1;
      for (const ofModel of entry.overrides.values()) prices += ofModel.length;
      // The cache takes the size of a value that it has from the first `set`.
      this.#entries.delete(projectId);
      this.#entries.set(projectId, entry, { size: prices });
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
    this.#entries.set(projectId, entry, { size: 1 });
    return entry;
  }
}

/** Returns a cache of the own prices in Postgres. */
export function overrideCacheOf(postgres: Postgres): OverrideCache {
  return new OverrideCache(async (projectId) => {
    const list = await findModelPrices(postgres, projectId);
    return list && compileOverrides(list);
  });
}

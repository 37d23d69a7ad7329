import { FairLane } from '../../lib/fair-lane.ts';
import { sharedThird } from '../../lib/pace.ts';
import { SharedCache } from '../../lib/shared-cache.ts';
import { within } from '../../lib/within.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findChangedPrices } from './model-price-store.ts';
import { compileOverrides, noOverrides, type PriceOverrides } from './price-overrides.ts';

const freshMs = 1_000;
/** Maximum wait for Postgres when an older answer is available. */
const patienceMs = 500;
const priceBytes = 1024;
/** Limits of the cached prices: projects, and 50,000 prices. */
const limits = { entriesMax: 10_000, bytesMax: 50_000 * priceBytes };

/** A body or a request waits for at most one load, and those who wait are bounded by the lanes of both. */
const lane = {
  name: 'reads of own prices',
  ...{ capacity: 2, perKey: 1, waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY },
  waitMsMax: 5_000,
};

/** The own prices of a project as they were loaded. */
export interface LoadedPrices {
  overrides: PriceOverrides;
  /** Another one after each change; undefined when the project never had prices. */
  version: string | undefined;
}

/** Returns `known` if the prices have its version, and undefined when the project never had prices. */
export type LoadPrices = (project: PricedProject, known: LoadedPrices | undefined) => Promise<LoadedPrices | undefined>;

interface Entry {
  loaded: LoadedPrices | undefined;
  /**
   * Start of the last successful load, or end of the last failed one. During an outage, callers
   * wait only once per `freshMs`.
   */
  askedAtMs: number;
  loading: Promise<PriceOverrides> | undefined;
}

/** Whose prices are asked for. The workspace shares the cache and the loads with others. */
export interface PricedProject {
  projectId: string;
  workspaceId: string;
}

/**
 * Caches the own prices of up to 10,000 projects, 50,000 prices together. Each is loaded at most once a second, so a change
 * takes effect within two seconds. Two loads run at a time, one of each workspace. While Postgres is unavailable the last
 * answer is used; a project without one gets the error.
 */
export class OverrideCache {
  readonly #entries = new SharedCache<Entry>(limits);
  readonly #lane = new FairLane(lane);
  readonly #load: LoadPrices;

  constructor(load: LoadPrices) {
    this.#load = load;
  }

  /**
   * Returns the own prices of a project.
   * @throws what the loader throws, and RateLimitedError or UnavailableError after 5 s without a turn, when the cache has
   * no prices of the project
   */
  async of(project: PricedProject): Promise<PriceOverrides> {
    const entry = this.#entry(project);
    const overrides = entry.loaded?.overrides;
    if (overrides !== undefined && performance.now() - entry.askedAtMs < freshMs) return overrides;
    entry.loading ??= this.#reload(project, entry);
    if (overrides === undefined) return entry.loading;
    const { loading } = entry;
    return within(patienceMs, () => loading).catch(() => overrides);
  }

  async #reload(project: PricedProject, entry: Entry): Promise<PriceOverrides> {
    const { projectId, workspaceId } = project;
    try {
      // The place is held until the load ends, also when its callers no longer wait.
      return await this.#lane.run(workspaceId, async () => {
        // Measured before the load, so that a change made during the load is noticed in time.
        const askedAtMs = performance.now();
        const loaded = (await this.#load(project, entry.loaded)) ?? neverPriced;
        entry.loaded = loaded;
        entry.askedAtMs = askedAtMs;
        let prices = 0;
        for (const ofModel of loaded.overrides.values()) prices += ofModel.length;
        this.#entries.set(workspaceId, projectId, entry, prices * priceBytes);
        return loaded.overrides;
      });
    } catch (error) {
      entry.askedAtMs = performance.now();
      throw error;
    } finally {
      entry.loading = undefined;
    }
  }

  #entry({ projectId, workspaceId }: PricedProject): Entry {
    const known = this.#entries.get(workspaceId, projectId);
    if (known !== undefined) return known;
    const entry: Entry = { loaded: undefined, askedAtMs: 0, loading: undefined };
    this.#entries.set(workspaceId, projectId, entry, 0);
    return entry;
  }
}

const neverPriced: LoadedPrices = { overrides: noOverrides, version: undefined };

/** Returns a cache of the own prices in Postgres. Prices that have not changed are neither read nor compiled again. */
export function overrideCacheOf(postgres: Postgres): OverrideCache {
  return new OverrideCache(async ({ projectId, workspaceId }, known) => {
    const found = await findChangedPrices(postgres, projectId, known?.version);
    if (found?.list === undefined) return found && known;
    await sharedThird(workspaceId)();
    return { overrides: compileOverrides(found.list), version: found.version };
  });
}

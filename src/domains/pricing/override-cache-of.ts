import type { Postgres } from '../../stores/postgres/client.ts';
import { findModelPrices } from './model-price-store.ts';
import { OverrideCache } from './override-cache.ts';
import { compileOverrides } from './price-overrides.ts';

/** Returns a cache of the own prices in Postgres. */
export function overrideCacheOf(postgres: Postgres): OverrideCache {
  return new OverrideCache(async (projectId) => {
    const list = await findModelPrices(postgres, projectId);
    return list && compileOverrides(list);
  });
}

export type { OverrideCache } from './override-cache.ts';
export { overrideCacheOf } from './override-cache.ts';
export { type Prices, priceCall } from './price-call.ts';
export type { PriceOverrides } from './price-overrides.ts';
export { PriceTable } from './price-table.ts';

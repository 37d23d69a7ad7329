import type { Place } from './execution-place-queries.ts';
import { sortOf } from './filters/execution-fields.ts';

/**
 * Returns a comparison in the order that the SQL of the list uses: by key with nulls last, then by
 * trace id.
 */
export function placeOrder(sort: string): (a: Place, b: Place) => number {
  const sign = sortOf(sort).direction === 'DESC' ? -1 : 1;
  return (a, b) => {
    if (a.key === null || b.key === null) {
      if (a.key !== b.key) return a.key === null ? 1 : -1;
    } else if (a.key !== b.key) {
      return BigInt(a.key) < BigInt(b.key) ? -sign : sign;
    }
    return a.traceId === b.traceId ? 0 : a.traceId < b.traceId ? -sign : sign;
  };
}

import type { z } from 'zod';
import { mapInSlices, type Rest } from '../../lib/pace.ts';
import { callsToWire, type promptAnalyticsSchema } from './prompt-analytics.schema.ts';
import type { CallRow, Grouping } from './prompt-analytics-queries.ts';
import type { Buckets } from './window.ts';

/** JSON of the keys in all rows of a series: many times that of ordinary keys. */
const seriesKeyCharsMax = 2 * 1024 * 1024;

/** The sums that a series shows, and the groups in it, in their order. */
export interface SeriesInput {
  rows: readonly CallRow[];
  groups: readonly Pick<CallRow, 'key'>[];
  buckets: Pick<Buckets, 'starts' | 'isPartial'>;
  grouping: Grouping;
}

/**
 * Returns every bucket of the first groups, in slices of the event loop: five thousand rows take 50 ms. Groups whose
 * keys, repeated for each bucket, are too large together are left out.
 */
export async function seriesOf(
  { rows, groups, buckets, grouping }: SeriesInput,
  rest: Rest,
): Promise<z.infer<typeof promptAnalyticsSchema>['series']> {
  const { starts, isPartial } = buckets;
  const kept = firstGroups(groups, starts.length);
  const byPlace = new Map(
    rows.flatMap((row) => (row.allBuckets === 0 ? [[`${row.bucket} ${row.key}`, row] as const] : [])),
  );
  const places = starts.flatMap((startMs) => kept.map(({ key }) => ({ startMs, key })));
  const toWire = ({ startMs, key }: (typeof places)[number]) => ({
    bucket: new Date(startMs).toISOString(),
    partial: isPartial(startMs),
    key: keyToWire(grouping, key),
    ...callsToWire(byPlace.get(`${startMs} ${key}`)),
  });
  return mapInSlices(places, toWire, rest);
}

/** Converts the key of a group to its API JSON. */
export function keyToWire(grouping: Grouping, key: string): string | number | null {
  if (key === '') return null;
  return grouping === 'version' ? Number(key) : key;
}

function firstGroups(groups: SeriesInput['groups'], buckets: number): SeriesInput['groups'] {
  let chars = 0;
  return groups.filter(({ key }) => {
    chars += JSON.stringify(key).length * buckets;
    return chars <= seriesKeyCharsMax;
  });
}

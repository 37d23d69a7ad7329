import { groupBy } from '../../lib/group-by.ts';
import type { LightSpan } from '../spans/index.ts';

/** Returns the spans of each trace. */
export function groupByTrace(spans: readonly LightSpan[]): Iterable<LightSpan[]> {
  return groupBy(spans, ({ traceId }) => traceId).values();
}

/** Rows that are read at a time: 2 to 3 MB of JSON, which takes 20 ms to parse. */
const rowsAtOnceMax = 4_000;

/** Groups traces that are read together, by their numbers of rows. Ids keep their order. */
export function groupByRows(rowsOf: ReadonlyMap<string, number>): string[][] {
  const groups: string[][] = [];
  let rowsLeft = 0;
  for (const [traceId, rows] of rowsOf) {
    const group = groups.at(-1);
    if (group === undefined || group.length === 100 || rows > rowsLeft) {
      groups.push([traceId]);
      rowsLeft = rowsAtOnceMax - rows;
    } else {
      group.push(traceId);
      rowsLeft -= rows;
    }
  }
  return groups;
}

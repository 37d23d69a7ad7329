import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { fingerprintOf } from '../../lib/cursor.ts';
import { TooLargeError } from '../../lib/errors.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { nextPlaces, type PlacesQuery, type PresentPlace, searchPlaces } from './execution-place-queries.ts';
import { asksSpans, type Condition } from './filters/condition.ts';
import { placeOrder } from './place-order.ts';

/**
 * Rows of spans above which a condition may be common: the indexes cannot exclude them. Reading them takes longer than
 * asking the next executions of the list, of which a common condition is satisfied by many.
 */
const rareRowsMax = 150_000;
/** How many times the wanted places are asked at first, and then. */
const steps = [2, 8];

/**
 * The step after which lists with a condition end when the next executions are asked, or `rare` if none. Shared by all
 * workspaces, oldest out: a workspace with many conditions costs another one the estimate again, 12 ms.
 */
const known = new LRUCache<string, { step: number } | 'rare'>({ max: 2_000, ttl: 10 * 60_000 });

/**
 * Returns the next places of a list. A condition on spans that is rare is searched in the index of all spans. A common
 * one is tested on the next executions only, so that a page costs the same in a small and in a large project. The
 * indexes estimate which one it is.
 */
export async function findPlaces(
  clickhouse: ClickHouse,
  query: PlacesQuery,
  spanRowsMax = rareRowsMax,
): Promise<PresentPlace[]> {
  const { projectId, condition, sort } = query.list;
  if (!asksSpans(condition)) return searchPlaces(clickhouse, query);
  const key = createHash('sha256')
    .update(fingerprintOf({ projectId, sort, condition: shapeOf(condition) }))
    .digest('base64');
  const last = known.get(key);
  if (last === undefined) {
    const found = await unlessTooLarge(searchPlaces(clickhouse, query, { spanRowsMax }));
    if (found !== undefined) return found;
  }
  if (last !== 'rare') {
    for (const step of steps.filter((each) => each >= (last?.step ?? 0))) {
      const found = await searchNext(clickhouse, query, query.limit * step);
      if (found === undefined) continue;
      known.set(key, { step });
      return found;
    }
    known.set(key, 'rare');
  }
  return searchPlaces(clickhouse, query);
}

/**
 * Returns the condition with the number of traces in place of each list of them: a list has up to 10,000, and how rare
 * the condition is changes little with them.
 */
function shapeOf(condition: Condition): unknown {
  if ('all' in condition) return { all: condition.all.map(shapeOf) };
  if ('any' in condition) return { any: condition.any.map(shapeOf) };
  if ('not' in condition) return { not: shapeOf(condition.not) };
  return 'traces' in condition ? { traces: condition.traces.length } : condition;
}

/** Tests the condition on the next executions of the list. Undefined when too few of them satisfy it. */
async function searchNext(
  clickhouse: ClickHouse,
  query: PlacesQuery,
  limit: number,
): Promise<PresentPlace[] | undefined> {
  const compare = placeOrder(query.list.sort);
  const next = await nextPlaces(clickhouse, { ...query, limit });
  const last = next.at(-1);
  if (last === undefined) return [];
  const traceIds = [...new Set(next.map(({ traceId }) => traceId))];
  // All that changes after this moment has a former place.
  const asked = { ...query, asOfMs: last.asOfMs };
  const found = await searchPlaces(clickhouse, asked, { traceIds });
  if (next.length < limit) return found;
  // A replaced row of an execution can have a later place, before which others are missing.
  const complete = found.filter((place) => compare(place, last) <= 0);
  return complete.length >= query.limit ? complete : undefined;
}

async function unlessTooLarge<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  }
}

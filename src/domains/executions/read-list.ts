import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Execution } from './execution.ts';
import { findFormerPlaces, findPlaces, type ListQuery, type Place } from './execution-place-queries.ts';
import { countSpanRows, findExecutions, findSatisfying } from './execution-queries.ts';
import { asksSpans } from './filters/condition.ts';
import { sortOf } from './filters/execution-fields.ts';

export interface ListedExecution {
  place: Place;
  execution: Execution;
}

/** Most places that are looked at together, where many of them turn out not to belong. */
const placesMax = 1_000;

/**
 * The next executions of a list, each at the place it had at `asOfMs` however it changed since, so that a walk meets it once; one that
 * came later has the place it came with. Answers that moment too; it is undefined for a list that is empty.
 */
export async function readList(
  clickhouse: ClickHouse,
  list: ListQuery,
  start: { asOfMs: number; after: Place } | undefined,
  count: number,
): Promise<{ rows: ListedExecution[]; asOfMs: number | undefined }> {
  const rows: ListedExecution[] = [];
  let asOfMs = start?.asOfMs;
  let after = start?.after;
  for (let wanted = count; ; wanted = Math.min(wanted * 4, placesMax)) {
    const present = await findPlaces(clickhouse, list, asOfMs, after, wanted);
    asOfMs ??= present[0]?.asOfMs;
    if (asOfMs === undefined) return { rows, asOfMs };
    const kept = present.filter(({ moved }) => !moved);
    // After the present ones, so that whatever they show as moved is found.
    const [former, keptExecutions] = await Promise.all([
      findFormerPlaces(clickhouse, list, asOfMs, after, wanted),
      readKept(clickhouse, list, idsOf(kept)),
    ]);
    const formerExecutions = await readChecked(clickhouse, list, idsOf(former));
    const { places, end } = merge(list, [present, former], [kept, former], wanted);
    for (const place of places) {
      const execution = formerExecutions.get(place.traceId) ?? keptExecutions.get(place.traceId);
      if (execution !== undefined) rows.push({ place, execution });
    }
    if (rows.length >= count || end === undefined) return { rows: rows.slice(0, count), asOfMs };
    after = end;
  }
}

/** Executions that looked as if they belonged. Where a span was replaced, it may have been by what it said before: those are checked. */
async function readKept(
  clickhouse: ClickHouse,
  list: ListQuery,
  traceIds: readonly string[],
): Promise<Map<string, Execution>> {
  const { projectId } = list;
  if (!asksSpans(list.condition)) return findExecutions(clickhouse, projectId, traceIds);
  const [executions, spanRows] = await Promise.all([
    findExecutions(clickhouse, projectId, traceIds),
    countSpanRows(clickhouse, projectId, traceIds),
  ]);
  const doubtful = traceIds.filter((id) => spanRows.get(id) !== executions.get(id)?.spanCount);
  const satisfying = await findSatisfying(clickhouse, list, doubtful);
  for (const id of doubtful) if (!satisfying.has(id)) executions.delete(id);
  return executions;
}

/** Those of the executions that satisfy the list's condition. */
async function readChecked(
  clickhouse: ClickHouse,
  list: ListQuery,
  traceIds: readonly string[],
): Promise<Map<string, Execution>> {
  const [executions, satisfying] = await Promise.all([
    findExecutions(clickhouse, list.projectId, traceIds),
    findSatisfying(clickhouse, list, traceIds),
  ]);
  return new Map([...executions].filter(([id]) => satisfying.has(id)));
}

/** Of two sources of places, one list up to where both are known; `end` is that place, undefined when there is no more. */
function merge(
  list: ListQuery,
  sources: readonly (readonly Place[])[],
  usable: readonly (readonly Place[])[],
  wanted: number,
): { places: Place[]; end: Place | undefined } {
  const compare = placeOrder(list.sort);
  const ends = sources.flatMap((source) => (source.length < wanted ? [] : source.slice(-1)));
  const [end] = ends.sort(compare);
  const byId = new Map(usable.flat().map((place) => [place.traceId, place]));
  const places = [...byId.values()].filter((place) => end === undefined || compare(place, end) <= 0).sort(compare);
  return { places, end };
}

const idsOf = (places: readonly Place[]) => places.map(({ traceId }) => traceId);

/** The order of the statements: by key with nulls last, then by trace id. */
function placeOrder(sort: string): (a: Place, b: Place) => number {
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

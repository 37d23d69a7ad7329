import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Execution } from './execution.ts';
import {
  findFormerPlaces,
  findPlaces,
  type ListQuery,
  type Place,
  type PresentPlace,
} from './execution-place-queries.ts';
import { countSpanRows, findExecutions, findSatisfying, type StoredExecution } from './execution-queries.ts';
import { asksSpans } from './filters/condition.ts';
import { placeOrder } from './place-order.ts';

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
  const compare = placeOrder(list.sort);
  const rows: ListedExecution[] = [];
  let asOfMs = start?.asOfMs;
  let after = start?.after;
  for (let wanted = count; ; wanted = Math.min(wanted * 4, placesMax)) {
    const present = await findPlaces(clickhouse, list, asOfMs, after, wanted);
    asOfMs ??= present[0]?.asOfMs;
    if (asOfMs === undefined) return { rows, asOfMs };
    const { kept, former, listed } = await readPlaces(clickhouse, list, asOfMs, after, present, wanted);
    // Up to here both lists of places are known.
    const [end] = [present, former].flatMap((places) => (places.length < wanted ? [] : places.slice(-1))).sort(compare);
    const byId = new Map([...kept, ...listed].map((row) => [row.place.traceId, row]));
    const next = [...byId.values()].filter(({ place }) => end === undefined || compare(place, end) <= 0);
    rows.push(...next.sort((a, b) => compare(a.place, b.place)));
    if (rows.length >= count || end === undefined) return { rows: rows.slice(0, count), asOfMs };
    after = end;
  }
}

/** The executions of present places that still stand there, and those that stood among them before they changed. */
async function readPlaces(
  clickhouse: ClickHouse,
  list: ListQuery,
  asOfMs: number,
  after: Place | undefined,
  present: readonly PresentPlace[],
  wanted: number,
): Promise<{ kept: ListedExecution[]; former: Place[]; listed: ListedExecution[] }> {
  const unmoved = present.filter(({ moved }) => !moved);
  // After the present ones, so that whatever they show as moved is found.
  const findFormer = () => findFormerPlaces(clickhouse, list, asOfMs, after, wanted);
  const [first, stored] = await Promise.all([findFormer(), readUnmoved(clickhouse, list, idsOf(unmoved))]);
  const known = new Set(idsOf(first));
  const changedMeanwhile = [...stored].some(([id, { summarisedAtMs }]) => summarisedAtMs > asOfMs && !known.has(id));
  const former = changedMeanwhile ? await findFormer() : first;
  const kept = unmoved.flatMap((place) => {
    const execution = stored.get(place.traceId)?.execution;
    return execution?.version === BigInt(place.rowVersion) ? [{ place, execution }] : [];
  });
  const checked = await readChecked(clickhouse, list, idsOf(former));
  const listed = former.flatMap((place) => {
    const execution = checked.get(place.traceId);
    return execution === undefined ? [] : [{ place, execution }];
  });
  return { kept, former, listed };
}

/** Where a span was replaced, its execution may have been found by what it said before: those are checked. */
async function readUnmoved(
  clickhouse: ClickHouse,
  list: ListQuery,
  traceIds: readonly string[],
): Promise<Map<string, StoredExecution>> {
  const { projectId } = list;
  const [stored, spanRows] = await Promise.all([
    findExecutions(clickhouse, projectId, traceIds),
    asksSpans(list.condition) ? countSpanRows(clickhouse, projectId, traceIds) : undefined,
  ]);
  if (spanRows === undefined) return stored;
  const doubtful = [...stored]
    .filter(([id, { execution }]) => spanRows.get(id) !== execution.spanCount)
    .map(([id]) => id);
  const satisfying = await findSatisfying(clickhouse, list, doubtful);
  for (const id of doubtful) if (!satisfying.has(id)) stored.delete(id);
  return stored;
}

/** Those of the executions that satisfy the list's condition. */
async function readChecked(
  clickhouse: ClickHouse,
  list: ListQuery,
  traceIds: readonly string[],
): Promise<Map<string, Execution>> {
  const [stored, satisfying] = await Promise.all([
    findExecutions(clickhouse, list.projectId, traceIds),
    findSatisfying(clickhouse, list, traceIds),
  ]);
  return new Map([...stored].flatMap(([id, { execution }]) => (satisfying.has(id) ? [[id, execution]] : [])));
}

const idsOf = (places: readonly Place[]) => places.map(({ traceId }) => traceId);

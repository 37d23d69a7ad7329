import { LRUCache } from 'lru-cache';
import { mapInSlices } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { countTraceRows } from '../spans/index.ts';
import { type Execution, readSummary } from '../summaries/index.ts';
import {
  findFormerPlaces,
  findStamps,
  type ListQuery,
  type Place,
  type PresentPlace,
  type Stamp,
} from './execution-place-queries.ts';
import { findExecutions, findSatisfying } from './execution-queries.ts';
import { asksNothing, asksSpans } from './filters/condition.ts';
import { findPlaces } from './find-places.ts';
import { placeOrder } from './place-order.ts';

export interface ListedExecution {
  place: Place;
  execution: Execution;
}

/**
 * Maximum number of places per query, when many of the places found turn out not to belong to the
 * list.
 */
const placesMax = 1_000;

/**
 * Former places that are read at least before the condition is checked. Few of them satisfy it, and with fewer of them
 * a list of a project that receives spans would need a second round.
 */
const uncheckedMax = 500;

/**
 * Projects whose executions changed while their list was read. Their former places are read at once, not only when it
 * is known that there are some. Shared by all workspaces, oldest out.
 */
const fedProjects = new LRUCache<string, true>({ max: 5_000, ttl: 10_000 });

/**
 * Reads the next executions of a list. Each keeps the place that it had at `asOfMs`, even if it
 * changes later, so that paging shows it once. An execution created later has its first place. Also
 * returns `asOfMs`, the moment that the list shows, undefined for an empty list. The first page shows `latestMs`, or if
 * that is not known the latest moment that it can.
 */
export async function readList(
  clickhouse: ClickHouse,
  list: ListQuery,
  start: { asOfMs: number; after: Place } | undefined,
  { count, latestMs }: { count: number; latestMs: number | undefined },
): Promise<{ rows: ListedExecution[]; asOfMs: number | undefined }> {
  const compare = placeOrder(list.sort);
  const rows: ListedExecution[] = [];
  let asOfMs = start?.asOfMs ?? latestMs;
  let after = start?.after;
  for (let wanted = count; ; wanted = Math.min(wanted * 4, placesMax)) {
    const present = await findPlaces(clickhouse, { list, asOfMs, after, limit: wanted });
    asOfMs ??= present[0]?.asOfMs;
    if (asOfMs === undefined || (present.length === 0 && after === undefined)) return { rows, asOfMs: undefined };
    const formerMax = asksNothing(list.condition) ? wanted : Math.max(wanted, uncheckedMax);
    const { kept, former, listed } = await readPlaces(clickhouse, list, asOfMs, after, present, formerMax);
    // Up to this place, both the present and the former places are complete.
    const ends = [
      ...(present.length < wanted ? [] : present.slice(-1)),
      ...(former.length < formerMax ? [] : former.slice(-1)),
    ];
    const [end] = ends.sort(compare);
    const byId = new Map([...kept, ...listed].map((row) => [row.place.traceId, row]));
    const next = [...byId.values()].filter(({ place }) => end === undefined || compare(place, end) <= 0);
    rows.push(...next.sort((a, b) => compare(a.place, b.place)));
    if (rows.length >= count || end === undefined) return { rows: rows.slice(0, count), asOfMs };
    after = end;
  }
}

/**
 * Returns executions whose present place is still valid (`kept`), and executions that had a former
 * place here before they changed (`listed`).
 */
async function readPlaces(
  clickhouse: ClickHouse,
  list: ListQuery,
  asOfMs: number,
  after: Place | undefined,
  present: readonly PresentPlace[],
  formerMax: number,
): Promise<{ kept: ListedExecution[]; former: Place[]; listed: ListedExecution[] }> {
  const unmoved = await mapInSlices(
    present.filter(({ stamp }) => stamp.summarizedAtMs <= asOfMs),
    (place) => ({ place, execution: readSummary(place.summary) }),
  );
  const executions = unmoved.map(({ execution }) => execution);
  const findFormer = () => findFormerPlaces(clickhouse, list, asOfMs, after, formerMax);
  // Run after the present places were read, so that they find every change that those show.
  const [{ stamps, haveMoved }, early, unsatisfying] = await Promise.all([
    findStamps(clickhouse, list.projectId, idsOf(executions), asOfMs),
    fedProjects.has(list.projectId) ? findFormer() : undefined,
    findUnsatisfying(clickhouse, list, executions),
  ]);
  if (haveMoved) fedProjects.set(list.projectId, true);
  const first = haveMoved ? (early ?? (await findFormer())) : [];
  const known = new Set(idsOf(first));
  const changedMeanwhile = [...stamps].some(([id, { summarizedAtMs }]) => summarizedAtMs > asOfMs && !known.has(id));
  const former = changedMeanwhile ? await findFormer() : first;
  const kept = unmoved.filter(
    ({ place }) => isNewest(place, stamps.get(place.traceId)) && !unsatisfying.has(place.traceId),
  );
  const checked = await readChecked(clickhouse, list, idsOf(former));
  const listed = former.flatMap((place) => {
    const execution = checked.get(place.traceId);
    return execution === undefined ? [] : [{ place, execution }];
  });
  return { kept, former, listed };
}

function isNewest({ stamp }: PresentPlace, newest: Stamp | undefined): boolean {
  return newest?.version === stamp.version && newest.summarizedAtMs === stamp.summarizedAtMs;
}

/**
 * Returns the ids of executions that no longer satisfy the condition. A span that was sent again
 * may have replaced the row that matched.
 */
async function findUnsatisfying(
  clickhouse: ClickHouse,
  list: ListQuery,
  executions: readonly Execution[],
): Promise<Set<string>> {
  if (!asksSpans(list.condition)) return new Set();
  const sentAgain = executions.filter(({ spansSentOnce }) => !spansSentOnce);
  const rows = await countTraceRows(clickhouse, list.projectId, idsOf(sentAgain));
  const doubtful = idsOf(sentAgain.filter(({ traceId, spanCount }) => rows.get(traceId) !== spanCount));
  const satisfying = await findSatisfying(clickhouse, list, doubtful);
  return new Set(doubtful.filter((id) => !satisfying.has(id)));
}

/** Returns those of the executions that satisfy the list's condition, by trace id. */
async function readChecked(
  clickhouse: ClickHouse,
  list: ListQuery,
  traceIds: readonly string[],
): Promise<Map<string, Execution>> {
  const satisfying = await findSatisfying(clickhouse, list, traceIds);
  return findExecutions(clickhouse, list.projectId, [...satisfying]);
}

const idsOf = (places: readonly { traceId: string }[]) => places.map(({ traceId }) => traceId);

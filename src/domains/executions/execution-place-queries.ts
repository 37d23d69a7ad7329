import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { fillCutSummaries, shownSummary } from './cut-summary-queries.ts';
import { BoundParameters } from './filters/bound-parameters.ts';
import { type CompileContext, compileCondition, isOneOfTraces } from './filters/compile-condition.ts';
import type { Condition } from './filters/condition.ts';
import { sortOf } from './filters/execution-fields.ts';
import { listSettings } from './list-settings.ts';

/** The executions that a list contains, and their order. */
export interface ListQuery {
  projectId: string;
  fromUnixNano: bigint;
  toUnixNano: bigint;
  condition: Condition;
  /** One of `sortNames`. */
  sort: string;
}

/**
 * Position of an execution in a list. `key` is the value of the sort field in its smallest unit.
 */
export interface Place {
  traceId: string;
  key: string | null;
}

/**
 * Identifies one row of an execution. An execution that was summarized again can have the same
 * version, so the time is needed too.
 */
export interface Stamp {
  version: string;
  summarizedAtMs: number;
}

export interface PresentPlace extends Place {
  /** Identifies the row at this place. A newer row may have replaced it. */
  stamp: Stamp;
  /** `executions.summary` of that row, shortened when it is very long. */
  summary: string;
  /**
   * The moment that the list shows. An execution that was summarized later has changed or was
   * created since.
   */
  asOfMs: number;
}

/** The places that are wanted: the next `limit` ones after a place, or the first ones. */
export interface PlacesQuery {
  list: ListQuery;
  asOfMs: number | undefined;
  after: Place | undefined;
  limit: number;
}

/** Columns of a {@link Stamp}. ClickHouse sends 64-bit integers as text. */
const stampColumns = 'version, toUnixTimestamp64Milli(summarized_at)::Float64 AS summarizedAtMs';
export const newestFirst = 'executions.version DESC, executions.summarized_at DESC';

/**
 * Milliseconds after which a row is visible, counted from its `summarized_at`: a usual insert takes less. ClickHouse
 * sets it after the insert begins, so a row of an insert that is in progress is not older than that insert.
 */
const stampToVisibleMs = 300;
/** An insert that takes longer than a request waits for may have a client that stopped sending. */
const insertSecondsMax = 60;
const slowestInsertMs = `(SELECT ceil(1000 * ifNull(max(elapsed), 0)) FROM system.processes
  WHERE query_kind = 'Insert' AND startsWith(query, 'INSERT INTO summaries ') AND elapsed < ${insertSecondsMax})`;
/** SQL for the latest moment that a list can show, in milliseconds since the epoch. */
export const latestMomentSql = `toUnixTimestamp64Milli(now64(3))::Float64 - ${stampToVisibleMs} - ${slowestInsertMs}`;

/** Which executions a list is searched in, and with which effort. */
export interface SearchScope {
  /** Only these executions and their spans. */
  traceIds?: readonly string[];
  /** Rows of `spans` that one condition may read, as the indexes estimate them before reading. */
  spanRowsMax?: number;
}

/**
 * Returns the next places of the list as it is now, for each execution the newest row first.
 * `asOfMs` is the moment that the list shows, by ClickHouse's clock; undefined means now. Does not
 * use FINAL, which would double the time, so the caller must check whether the rows of executions
 * and spans were replaced. Summaries are read last and only for these rows.
 * @throws TooLargeError when a condition would read more than `spanRowsMax` rows
 */
export async function searchPlaces(
  clickhouse: ClickHouse,
  { list, asOfMs, after, limit }: PlacesQuery,
  { traceIds, spanRowsMax }: SearchScope = {},
): Promise<PresentPlace[]> {
  const parameters = new BoundParameters();
  const spans = { mode: 'candidates', traceIds, rowsMax: spanRowsMax } as const;
  const among = traceIds === undefined ? 'true' : isOneOfTraces(traceIds, parameters);
  const rows = await rowsOf<Omit<PresentPlace, 'stamp' | 'summary'> & Stamp & { shown: string }>(
    clickhouse,
    `SELECT ${placeColumns(list)}, ${stampColumns}, ${shownSummary} AS shown, ${asOfSql(asOfMs, parameters)} AS asOfMs
     FROM executions
     WHERE ${filterSql(list, spans, parameters)} AND ${among} AND ${nextSql(list, after, parameters)}, ${newestFirst}
     LIMIT ${parameters.bind('UInt32', limit)}`,
    parameters,
  );
  const places = rows.map(({ version, summarizedAtMs, shown, ...place }) => ({
    ...{ ...place, summary: shown },
    stamp: { version, summarizedAtMs },
  }));
  return fillCutSummaries(clickhouse, list.projectId, places);
}

/** Returns the next places of all executions of the window, whether they satisfy the condition or not. */
export function nextPlaces(
  clickhouse: ClickHouse,
  { list, asOfMs, after, limit }: PlacesQuery,
): Promise<(Place & { asOfMs: number })[]> {
  const parameters = new BoundParameters();
  return rowsOf(
    clickhouse,
    `SELECT ${placeColumns(list)}, ${asOfSql(asOfMs, parameters)} AS asOfMs FROM executions
     WHERE project_id = ${parameters.bind('String', list.projectId)} AND ${windowSql(list, parameters)}
       AND ${nextSql(list, after, parameters)}
     LIMIT ${parameters.bind('UInt32', limit)}`,
    parameters,
  );
}

function asOfSql(asOfMs: number | undefined, parameters: BoundParameters): string {
  return asOfMs === undefined ? latestMomentSql : parameters.bind('Float64', asOfMs);
}

/**
 * Returns the stamp of the newest row of each execution, and whether any execution of the project
 * changed or was created after `asOfMs`. ClickHouse needs a quarter less time for one statement
 * than for two.
 */
export async function findStamps(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  asOfMs: number,
): Promise<{ stamps: Map<string, Stamp>; haveMoved: boolean }> {
  const parameters = new BoundParameters();
  const project = parameters.bind('String', projectId);
  const stamps = `SELECT lower(hex(trace_id)) AS traceId, ${stampColumns} FROM executions
                  PREWHERE project_id = ${project} AND ${isOneOfTraces(traceIds, parameters)}
                  ORDER BY ${newestFirst} LIMIT 1 BY trace_id`;
  const moved = `SELECT '${anyMoved}' AS traceId, 0::UInt64 AS version, 0::Float64 AS summarizedAtMs FROM
                   (SELECT 1 FROM executions WHERE project_id = ${project} AND summarized_at > ${momentSql(asOfMs, parameters)} LIMIT 1)`;
  const rows = await rowsOf<Stamp & { traceId: string }>(clickhouse, `${stamps} UNION ALL ${moved}`, parameters);
  const found = new Map(rows.map(({ traceId, ...stamp }) => [traceId, stamp]));
  return { haveMoved: found.delete(anyMoved), stamps: found };
}

/** Takes the place of a trace id in the row that reports that executions have changed. */
const anyMoved = 'moved';

/**
 * Returns the next former places of executions that changed after `asOfMs`. A former place comes
 * from the last summary up to `asOfMs`, or from the first summary if there was none. The time
 * window is checked, but not the condition of the list.
 */
export function findFormerPlaces(
  clickhouse: ClickHouse,
  list: ListQuery,
  asOfMs: number,
  after: Place | undefined,
  limit: number,
): Promise<Place[]> {
  const parameters = new BoundParameters();
  const project = parameters.bind('String', list.projectId);
  const asOf = momentSql(asOfMs, parameters);
  const newest = '(version, summarized_at)';
  const first = '(summarized_at, version)';
  const place = `tuple(${keyColumns.join(', ')})`;
  const former = `SELECT trace_id, if(countIf(summarized_at <= ${asOf}) > 0,
                                      argMaxIf(${place}, ${newest}, summarized_at <= ${asOf}), argMin(${place}, ${first})) AS former
                  FROM execution_versions
                  WHERE project_id = ${project} AND trace_id IN
                    (SELECT trace_id FROM executions WHERE project_id = ${project} AND summarized_at > ${asOf})
                  GROUP BY trace_id`;
  const columns = keyColumns.map((column, index) => `former.${index + 1} AS ${column}`);
  return rowsOf(
    clickhouse,
    `SELECT ${placeColumns(list)} FROM (SELECT trace_id, ${columns.join(', ')} FROM (${former}))
     WHERE ${windowSql(list, parameters)} AND ${nextSql(list, after, parameters)}
     LIMIT ${parameters.bind('UInt32', limit)}`,
    parameters,
  );
}

/** Counts the executions that the list has now. */
export async function countExecutions(clickhouse: ClickHouse, list: ListQuery): Promise<number> {
  const parameters = new BoundParameters();
  const query = `SELECT count()::Float64 AS total FROM executions FINAL WHERE ${filterSql(list, { mode: 'exact' }, parameters)}`;
  const [row] = await rowsOf<{ total: number }>(clickhouse, query, parameters);
  return row?.total ?? 0;
}

/** The columns that the sortable fields are computed from. */
const keyColumns = ['start_unix_nano', 'end_unix_nano', 'total_tokens', 'cost_nano_usd'];

function rowsOf<Row>(clickhouse: ClickHouse, query: string, parameters: BoundParameters): Promise<Row[]> {
  return readRows<Row>(clickhouse, {
    query,
    query_params: parameters.values,
    clickhouse_settings: listSettings,
    format: 'JSONEachRow',
  });
}

function placeColumns({ sort }: ListQuery): string {
  return `lower(hex(trace_id)) AS traceId, ${sortOf(sort).sql} AS key`;
}

function filterSql(list: ListQuery, spans: CompileContext['spans'], parameters: BoundParameters): string {
  const { projectId, condition } = list;
  const project = parameters.bind('String', projectId);
  const filter = compileCondition(condition, { parameters, projectId, spans });
  return `project_id = ${project} AND ${windowSql(list, parameters)} AND ${filter}`;
}

function windowSql(list: ListQuery, parameters: BoundParameters): string {
  const from = parameters.bind('UInt64', list.fromUnixNano);
  return `start_unix_nano >= ${from} AND start_unix_nano < ${parameters.bind('UInt64', list.toUnixNano)}`;
}

/**
 * Returns SQL for the rows after a place and their order: by key with nulls last, then by trace id.
 */
function nextSql(list: ListQuery, after: Place | undefined, parameters: BoundParameters): string {
  const { sql: key, direction } = sortOf(list.sort);
  const start = after === undefined ? 'true' : afterSql(list, after, parameters);
  // Do not add a sort key before `key`, even a constant one. ClickHouse would no longer stop after
  // the first rows.
  return `${start} ORDER BY ${key} ${direction} NULLS LAST, trace_id ${direction}`;
}

function afterSql({ sort }: ListQuery, after: Place, parameters: BoundParameters): string {
  const { sql: key, direction } = sortOf(sort);
  const sign = direction === 'DESC' ? '<' : '>';
  const idAfter = `trace_id ${sign} toFixedString(unhex(${parameters.bind('String', after.traceId)}), 16)`;
  if (after.key === null) return `isNull(${key}) AND ${idAfter}`;
  const given = parameters.bind('UInt64', after.key);
  return `(isNull(${key}) OR ${key} ${sign} ${given} OR (${key} = ${given} AND ${idAfter}))`;
}

function momentSql(ms: number, parameters: BoundParameters): string {
  return `fromUnixTimestamp64Milli(${parameters.bind('Int64', ms)}, 'UTC')`;
}

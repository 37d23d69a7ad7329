import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { fillCutSummaries, shownSummary } from './cut-summary-queries.ts';
import { BoundParameters } from './filters/bound-parameters.ts';
import { type CompileContext, compileCondition, isOneOfTraces } from './filters/compile-condition.ts';
import type { Condition } from './filters/condition.ts';
import { sortOf } from './filters/execution-fields.ts';
import { listSettings } from './list-settings.ts';

/** Which executions a list is about, and in what order. */
export interface ListQuery {
  projectId: string;
  fromUnixNano: bigint;
  toUnixNano: bigint;
  condition: Condition;
  /** One of `sortNames`. */
  sort: string;
}

/** Where an execution stands in a list. `key` is what the list is sorted by, in its smallest unit. */
export interface Place {
  traceId: string;
  key: string | null;
}

/** What tells the rows of one execution apart; one that was summed up again may have the version of the row that it replaces. */
export interface Stamp {
  version: string;
  summarisedAtMs: number;
}

export interface PresentPlace extends Place {
  /** Of the row that stands there, which a newer one may have replaced. */
  stamp: Stamp;
  /** `executions.summary` of that row, cut where it is very long. */
  summary: string;
  /** What the list is held against. One that was summed up later has changed since, or come. */
  asOfMs: number;
}

/** As {@link Stamp} has it: integers of 64 bits come as text. */
const stampColumns = 'version, toUnixTimestamp64Milli(summarised_at)::Float64 AS summarisedAtMs';
export const newestFirst = 'executions.version DESC, executions.summarised_at DESC';

/** By then a row can be seen that was stamped as it was written. */
const stampToVisibleMs = 300;

/**
 * The next places of a list as it is now, the newest first of an execution's own. `asOfMs` is the moment that the list is held against,
 * by ClickHouse's clock; the present when undefined. Rows of executions and of spans that were replaced are taken for valid, because
 * FINAL would double the time: whoever asks has to look. Summaries are read last, of these rows alone.
 */
export async function findPlaces(
  clickhouse: ClickHouse,
  list: ListQuery,
  asOfMs: number | undefined,
  after: Place | undefined,
  limit: number,
): Promise<PresentPlace[]> {
  const parameters = new BoundParameters();
  const asOf =
    asOfMs === undefined
      ? `toUnixTimestamp64Milli(now64(3))::Float64 - ${stampToVisibleMs}`
      : parameters.bind('Float64', asOfMs);
  const rows = await rowsOf<Omit<PresentPlace, 'stamp' | 'summary'> & Stamp & { shown: string }>(
    clickhouse,
    `SELECT ${placeColumns(list)}, ${stampColumns}, ${shownSummary} AS shown, ${asOf} AS asOfMs
     FROM executions
     WHERE ${filterSql(list, { mode: 'candidates' }, parameters)} AND ${nextSql(list, after, parameters)}, ${newestFirst}
     LIMIT ${parameters.bind('UInt32', limit)}`,
    parameters,
  );
  const places = rows.map(({ version, summarisedAtMs, shown, ...place }) => ({
    ...{ ...place, summary: shown },
    stamp: { version, summarisedAtMs },
  }));
  return fillCutSummaries(clickhouse, list.projectId, places);
}

/**
 * What tells the newest row of each of these executions from the rows that it replaces, and whether any execution of the project has
 * changed, or come, since `asOfMs`. One statement, because the engine takes a quarter less for one than for two.
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
  const moved = `SELECT '${anyMoved}' AS traceId, 0::UInt64 AS version, 0::Float64 AS summarisedAtMs FROM
                   (SELECT 1 FROM executions WHERE project_id = ${project} AND summarised_at > ${momentSql(asOfMs, parameters)} LIMIT 1)`;
  const rows = await rowsOf<Stamp & { traceId: string }>(clickhouse, `${stamps} UNION ALL ${moved}`, parameters);
  const found = new Map(rows.map(({ traceId, ...stamp }) => [traceId, stamp]));
  return { haveMoved: found.delete(anyMoved), stamps: found };
}

/** Stands for the id of a trace in the row that says that executions have moved. */
const anyMoved = 'moved';

/**
 * The next places that those executions had which changed since: where the last summary before then had them, or the first one if
 * there was none. Whether they are in the list otherwise is not looked at.
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
  const order = '(summarised_at, version)';
  const place = `tuple(${keyColumns.join(', ')})`;
  const former = `SELECT trace_id, if(countIf(summarised_at <= ${asOf}) > 0,
                                      argMaxIf(${place}, ${order}, summarised_at <= ${asOf}), argMin(${place}, ${order})) AS former
                  FROM execution_versions
                  WHERE project_id = ${project} AND trace_id IN
                    (SELECT trace_id FROM executions WHERE project_id = ${project} AND summarised_at > ${asOf})
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

/** How many executions the list has now. */
export async function countExecutions(clickhouse: ClickHouse, list: ListQuery): Promise<number> {
  const parameters = new BoundParameters();
  const query = `SELECT count()::Float64 AS total FROM executions FINAL WHERE ${filterSql(list, { mode: 'exact' }, parameters)}`;
  const [row] = await rowsOf<{ total: number }>(clickhouse, query, parameters);
  return row?.total ?? 0;
}

/** What sortable fields are made of. */
const keyColumns = ['start_unix_nano', 'end_unix_nano', 'total_tokens', 'cost_nano_usd'];

function rowsOf<Row>(clickhouse: ClickHouse, query: string, parameters: BoundParameters): Promise<Row[]> {
  return runClickHouse(async () => {
    const result = await clickhouse.query({
      query,
      query_params: parameters.values,
      clickhouse_settings: listSettings,
      format: 'JSONEachRow',
    });
    return result.json<Row>();
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

/** What comes after a place, in the order of the list: by key with nulls last, then by trace id. */
function nextSql(list: ListQuery, after: Place | undefined, parameters: BoundParameters): string {
  const { sql: key, direction } = sortOf(list.sort);
  const start = after === undefined ? 'true' : afterSql(list, after, parameters);
  // A key in front of it, even a constant one, would hide from the engine that only the first rows are wanted.
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

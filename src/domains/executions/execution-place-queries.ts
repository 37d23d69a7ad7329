import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { BoundParameters } from './filters/bound-parameters.ts';
import { type CompileContext, compileCondition } from './filters/compile-condition.ts';
import type { Condition } from './filters/condition.ts';
import { sortOf } from './filters/execution-fields.ts';
import { listSettings } from './list-settings.ts';

/** Which executions a walk is about, and in what order. */
export interface Walk {
  projectId: string;
  fromUnixNano: bigint;
  toUnixNano: bigint;
  condition: Condition;
  /** One of `sortNames`. */
  sort: string;
  /** The moment whose order the walk follows, by ClickHouse's clock; its first page takes the present. */
  asOfMs: number | undefined;
}

/** Where an execution stands in a walk. `key` is what the list is sorted by, in its smallest unit. */
export interface Place {
  traceId: string;
  key: string | null;
  asOfMs: number;
}

/** By then a summary can be seen that was stamped as it was written. */
const stampToVisibleMs = 300;

/**
 * The next places of a walk. An execution keeps the place it had at `asOfMs`, however it changes, so that a walk meets it once; one that
 * came later has the place it came with. What spans must be is held against replaced rows too, so some may turn out not to belong.
 */
export async function findPlaces(
  clickhouse: ClickHouse,
  walk: Walk,
  after: Pick<Place, 'key' | 'traceId'> | undefined,
  limit: number,
): Promise<Place[]> {
  const parameters = new BoundParameters();
  const { sql: key, direction } = sortOf(walk.sort);
  const asOf = asOfSql(walk, parameters);
  const query = `SELECT lower(hex(trace_id)) AS traceId, if(isNull(${key}), NULL, toString(${key})) AS key,
                        toUnixTimestamp64Milli(${asOf}) AS asOfMs
                 FROM (${placed(walk, asOf, { mode: 'candidates' }, parameters)})
                 WHERE ${inWindow(walk, parameters)} AND ${after === undefined ? 'true' : comesAfter(after, walk.sort, parameters)}
                 ORDER BY isNull(${key}), ${key} ${direction}, trace_id ${direction}
                 LIMIT ${parameters.bind('UInt32', limit)}`;
  return runClickHouse(async () => {
    const result = await clickhouse.query({ ...common(query, parameters), format: 'JSONEachRow' });
    const rows = await result.json<{ traceId: string; key: string | null; asOfMs: string }>();
    return rows.map((row) => ({ ...row, asOfMs: Number(row.asOfMs) }));
  });
}

/** How many executions the walk is about, whatever its page. */
export async function countPlaces(clickhouse: ClickHouse, walk: Walk): Promise<number> {
  const parameters = new BoundParameters();
  const from = placed(walk, asOfSql(walk, parameters), { mode: 'exact' }, parameters);
  const query = `SELECT count() AS total FROM (${from}) WHERE ${inWindow(walk, parameters)}`;
  return runClickHouse(async () => {
    const result = await clickhouse.query({ ...common(query, parameters), format: 'JSONEachRow' });
    const [row] = await result.json<{ total: string }>();
    return Number(row?.total);
  });
}

function common(query: string, parameters: BoundParameters) {
  return { query, query_params: parameters.values, clickhouse_settings: listSettings };
}

function asOfSql({ asOfMs }: Walk, parameters: BoundParameters): string {
  if (asOfMs === undefined) return `subtractMilliseconds(now64(3, 'UTC'), ${stampToVisibleMs})`;
  return `fromUnixTimestamp64Milli(${parameters.bind('Int64', asOfMs)}, 'UTC')`;
}

const keys = ['start_unix_nano', 'end_unix_nano', 'total_tokens', 'cost_nano_usd'];

/** The executions with the keys they had: of those that changed since, the last summary before, else the first one. */
function placed(walk: Walk, asOf: string, spans: CompileContext['spans'], parameters: BoundParameters): string {
  const { projectId, condition } = walk;
  const project = parameters.bind('String', projectId);
  const filter = compileCondition(condition, { parameters, projectId, spans });
  const before = `(summarised_at <= ${asOf})`;
  const stamp = '(summarised_at, version)';
  const had = `tuple(${keys.join(', ')})`;
  return `SELECT now.trace_id AS trace_id, ${keys.map((key, index) => `if(then.moved, then.had.${index + 1}, now.${key}) AS ${key}`).join(', ')}
    FROM (SELECT trace_id, ${keys.join(', ')} FROM executions FINAL WHERE project_id = ${project} AND ${filter}) AS now
    LEFT JOIN (
      SELECT trace_id, true AS moved,
             if(countIf(${before}) > 0, argMaxIf(${had}, ${stamp}, ${before}), argMin(${had}, ${stamp})) AS had
      FROM execution_versions
      WHERE project_id = ${project} AND trace_id IN
        (SELECT trace_id FROM execution_versions WHERE project_id = ${project} AND summarised_at > ${asOf})
      GROUP BY trace_id
    ) AS then ON now.trace_id = then.trace_id`;
}

function inWindow(walk: Walk, parameters: BoundParameters): string {
  const from = parameters.bind('UInt64', walk.fromUnixNano);
  return `start_unix_nano >= ${from} AND start_unix_nano < ${parameters.bind('UInt64', walk.toUnixNano)}`;
}

/** In the order of the list: by key with nulls last, then by trace id. */
function comesAfter(after: Pick<Place, 'key' | 'traceId'>, sort: string, parameters: BoundParameters): string {
  const { sql: key, direction } = sortOf(sort);
  const sign = direction === 'DESC' ? '<' : '>';
  const idAfter = `trace_id ${sign} toFixedString(unhex(${parameters.bind('String', after.traceId)}), 16)`;
  if (after.key === null) return `isNull(${key}) AND ${idAfter}`;
  const given = parameters.bind('Int64', after.key);
  return `(isNull(${key}) OR ${key} ${sign} ${given} OR (${key} = ${given} AND ${idAfter}))`;
}

import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import type { Window } from './buckets.ts';

/** A statement reads one project. Half of the threads stay for others. */
const settings = { max_execution_time: 10, max_threads: 2, max_rows_to_read: '500000000' } as const;

const startMs = 'intDiv(start_unix_nano, 1000000)';
/** A cost that overflowed 64 bits is stored as a negative number, and counts as the largest one. */
const cost = (column: string) => `toInt128(if(${column} < 0, 9223372036854775807, ${column}))`;
const duration = 'greatest(toInt128(end_unix_nano) - toInt128(start_unix_nano), 0) / 1e6';

/** Sums over executions. Costs are whole nano-USD as text, which a number could not hold. */
export interface Sums {
  executions: number;
  spans: number;
  errors: number;
  users: number;
  sessions: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  totalTokens: number;
  /** Executions with a known cost. */
  priced: number;
  cost: string;
  unpricedSpans: number;
  /** The 50th, 75th, 95th and 99th percentile of the duration in ms; empty without executions. */
  latencyMs: number[];
}

const sums = `count()::Float64 AS executions, sum(span_count)::Float64 AS spans, countIf(status = 'error')::Float64 AS errors,
  uniqExactIf(user_id, user_id != '')::Float64 AS users, uniqExactIf(session_id, session_id != '')::Float64 AS sessions,
  sum(input_tokens)::Float64 AS inputTokens, sum(output_tokens)::Float64 AS outputTokens,
  sum(cache_read_tokens)::Float64 AS cacheReadTokens, sum(cache_write_tokens)::Float64 AS cacheWriteTokens,
  sum(reasoning_tokens)::Float64 AS reasoningTokens, sum(total_tokens)::Float64 AS totalTokens,
  count(cost_nano_usd)::Float64 AS priced, toString(sum(ifNull(${cost('cost_nano_usd')}, 0))) AS cost,
  sum(unpriced_spans)::Float64 AS unpricedSpans,
  arrayMap(ms -> ifNotFinite(ms, 0), quantilesExactInclusive(0.5, 0.75, 0.95, 0.99)(${duration})) AS latencyMs`;

export interface StatsRow extends Sums {
  /** Whether the row is of the window, and not of the one before it. */
  isCurrent: 0 | 1;
  /** Whether the row is the sum of all buckets. */
  isTotal: 0 | 1;
  /** Start of the bucket in ms since the epoch, as text. */
  bucket: string;
}

/**
 * Returns the sums of a window for each bucket and in all, and those of the window of the same length
 * before it. Buckets without executions are absent. Everything is exact: each execution in its newest
 * version.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readSums(
  clickhouse: ClickHouse,
  { projectId, window, starts }: { projectId: string; window: Window; starts: readonly number[] },
): Promise<StatsRow[]> {
  return readRows<StatsRow>(clickhouse, {
    query: `SELECT ${startMs} >= {fromMs:UInt64} AS isCurrent, grouping(bucket)::UInt8 AS isTotal,
              toString(roundDown(${startMs}, {starts:Array(UInt64)})) AS bucket, ${sums}
            FROM executions FINAL PREWHERE project_id = {projectId:String}
            WHERE ${startMs} >= {previousMs:UInt64} AND ${startMs} < {toMs:UInt64}
            GROUP BY GROUPING SETS ((isCurrent, bucket), (isCurrent))`,
    query_params: { projectId, starts, ...window, previousMs: Math.max(0, 2 * window.fromMs - window.toMs) },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
}

/** Joins members of an array of tuples. Only the members that a statement names are read. */
const members = (array: string, names: readonly string[]) =>
  `ARRAY JOIN ${names.map((name) => `${array}.${name} AS one_${name}`).join(', ')}`;

const callCost = 'toString(sumIf(toInt128(one_cost_nano_usd), one_counted)) AS cost';
const callErrors = "sumIf(one_calls, one_status = 'error')::Float64 AS failed";
const callNumbers = ['calls', 'cost_nano_usd', 'counted', 'status'];

/** The most frequent values of one kind: what is joined, and the statement around it. */
const tops = {
  prompts: {
    joined: members('calls', [...callNumbers, 'prompt_id', 'prompt_name']),
    select: `one_prompt_id AS id, any(one_prompt_name) AS name, sum(one_calls)::Float64 AS callCount, ${callCost}, ${callErrors}`,
    rest: `(one_prompt_id != '' OR one_prompt_name != '')
      GROUP BY id, if(one_prompt_id = '', one_prompt_name, '') ORDER BY callCount DESC, id, name`,
  },
  models: {
    joined: members('calls', [...callNumbers, 'model', 'provider', 'total_tokens']),
    select: `one_model AS name, one_provider AS provider, sum(one_calls)::Float64 AS callCount,
      sumIf(one_total_tokens, one_counted)::Float64 AS totalTokens, ${callCost}, ${callErrors}`,
    rest: "one_model != '' GROUP BY name, provider ORDER BY callCount DESC, name, provider",
  },
  users: {
    joined: '',
    select: `user_id AS name, count()::Float64 AS executions, countIf(status = 'error')::Float64 AS errors,
      toString(sum(ifNull(${cost('cost_nano_usd')}, 0))) AS cost`,
    rest: "user_id != '' GROUP BY name ORDER BY executions DESC, name",
  },
  errors: {
    joined: members('errors', ['type', 'spans']),
    select: 'one_type AS name, sum(one_spans)::Float64 AS spans, count()::Float64 AS executions',
    rest: 'true GROUP BY name ORDER BY spans DESC, name',
  },
} as const;

export interface TopRows {
  prompts: { id: string; name: string; callCount: number; cost: string; failed: number };
  models: { name: string; provider: string; callCount: number; totalTokens: number; cost: string; failed: number };
  users: { name: string; executions: number; errors: number; cost: string };
  errors: { name: string; spans: number; executions: number };
}

/**
 * Returns the ten most frequent prompts, models, users or types of errors of a window.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readTop<Kind extends keyof TopRows>(
  clickhouse: ClickHouse,
  kind: Kind,
  { projectId, window }: { projectId: string; window: Window },
): Promise<TopRows[Kind][]> {
  const { joined, select, rest } = tops[kind];
  return readRows<TopRows[Kind]>(clickhouse, {
    query: `SELECT ${select} FROM executions FINAL ${joined} PREWHERE project_id = {projectId:String}
            WHERE ${startMs} >= {fromMs:UInt64} AND ${startMs} < {toMs:UInt64} AND ${rest} LIMIT 10`,
    query_params: { projectId, ...window },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
}

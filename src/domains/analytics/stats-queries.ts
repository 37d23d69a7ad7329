import { type ClickHouse, sumSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import type { TokenUsage } from '../spans/index.ts';
import type { Window } from './buckets.ts';
import { isRetained } from './retained.ts';

const startMs = 'intDiv(start_unix_nano, 1000000)';
/** SQL for a stored cost. One that overflowed 64 bits is stored as a negative number, and counts as the largest one. */
export const storedCost = (column: string) => `toInt128(if(${column} < 0, 9223372036854775807, ${column}))`;
/**
 * SQL for the number of different texts other than ''. It counts 64-bit hashes: of ten million texts two are equal
 * with a probability of 3e-6. `uniqExact` keeps a set of 128-bit hashes per group, which takes five times as long.
 */
export const distinct = (text: string) => `arrayUniq(groupArrayIf(sipHash64(${text}), ${text} != ''))::Float64`;
const durationNano = 'if(end_unix_nano > start_unix_nano, end_unix_nano - start_unix_nano, 0)';
/** Compares the column itself with whole milliseconds, so that its index can be used. */
const nanosOf = (parameter: string) => `{${parameter}:UInt64} * 1000000`;

/** Sums over executions. Costs are whole nano-USD as text, which a number could not hold. */
export interface Sums extends TokenUsage {
  executions: number;
  spans: number;
  errors: number;
  users: number;
  sessions: number;
  /** Executions with a known cost. */
  priced: number;
  cost: string;
  unpricedSpans: number;
  /** The 50th, 75th, 95th and 99th percentile of the duration in ms; empty without executions. */
  latencyMs: number[];
}

const sums = `count()::Float64 AS executions, sum(span_count)::Float64 AS spans, countIf(status = 'error')::Float64 AS errors,
  ${distinct('user_id')} AS users, ${distinct('session_id')} AS sessions,
  sum(input_tokens)::Float64 AS inputTokens, sum(output_tokens)::Float64 AS outputTokens,
  sum(cache_read_tokens)::Float64 AS cacheReadTokens, sum(cache_write_tokens)::Float64 AS cacheWriteTokens,
  sum(reasoning_tokens)::Float64 AS reasoningTokens, sum(total_tokens)::Float64 AS totalTokens,
  count(cost_nano_usd)::Float64 AS priced, toString(sum(ifNull(${storedCost('cost_nano_usd')}, 0))) AS cost,
  sum(unpriced_spans)::Float64 AS unpricedSpans,
  arrayMap(nanos -> ifNotFinite(nanos, 0) / 1e6, quantilesExactInclusive(0.5, 0.75, 0.95, 0.99)(${durationNano})) AS latencyMs`;

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
            FROM execution_facts FINAL PREWHERE project_id = {projectId:String}
            WHERE start_unix_nano >= ${nanosOf('previousMs')} AND start_unix_nano < ${nanosOf('toMs')} AND ${isRetained}
            GROUP BY GROUPING SETS ((isCurrent, bucket), (isCurrent))`,
    query_params: { projectId, starts, ...window, previousMs: Math.max(0, 2 * window.fromMs - window.toMs) },
    // Otherwise a shard groups by the number of the bucket, and `grouping` does not find its text.
    clickhouse_settings: { ...sumSettings, optimize_injective_functions_in_group_by: 0 },
    format: 'JSONEachRow',
  });
}

/** Joins members of an array of tuples. Only the members that a statement names are read. */
const members = (array: string, names: readonly string[]) =>
  `ARRAY JOIN ${names.map((name) => `${array}.${name} AS one_${name}`).join(', ')}`;

/** Rows of prompts and models that are read, because several rows can be of one prompt. */
const callRowsMax = 30;
const callMembers = ['calls', 'cost_nano_usd', 'counted', 'status', 'total_tokens', 'model', 'provider'];
/** Values of one kind in an answer. */
export const topsMax = 10;

/** The most frequent values of one kind: what is joined, and the statement around it. */
const tops = {
  // One pass over the calls for both, because it costs most. A group without a name is no value.
  calls: {
    joined: members('calls', [...callMembers, 'prompt_id', 'prompt_name']),
    select: `grouping(one_model)::UInt8 AS isPrompt, one_model AS model, one_provider AS provider,
      one_prompt_id AS promptId, any(one_prompt_name) AS promptName, sum(one_calls)::Float64 AS callCount,
      sumIf(one_total_tokens, one_counted)::Float64 AS totalTokens,
      toString(sumIf(${storedCost('one_cost_nano_usd')}, one_counted)) AS cost, sumIf(one_calls, one_status = 'error')::Float64 AS failed`,
    rest: `true GROUP BY GROUPING SETS ((one_model, one_provider), (one_prompt_id, if(one_prompt_id = '', one_prompt_name, '')))
      HAVING isPrompt ? promptId != '' OR promptName != '' : model != ''
      ORDER BY callCount DESC, model, provider, promptId, promptName LIMIT ${callRowsMax} BY isPrompt`,
  },
  users: {
    joined: '',
    select: `user_id AS name, count()::Float64 AS executions, countIf(status = 'error')::Float64 AS errors,
      toString(sum(ifNull(${storedCost('cost_nano_usd')}, 0))) AS cost`,
    rest: `user_id != '' GROUP BY name ORDER BY executions DESC, name LIMIT ${topsMax}`,
  },
  errors: {
    joined: members('errors', ['type', 'spans']),
    select: 'one_type AS name, sum(one_spans)::Float64 AS spans, count()::Float64 AS executions',
    rest: `true GROUP BY name ORDER BY spans DESC, name LIMIT ${topsMax}`,
  },
} as const;

export interface TopRows {
  /** A row is of a prompt if `isPrompt`, otherwise of a model. */
  calls: {
    isPrompt: 0 | 1;
    model: string;
    provider: string;
    promptId: string;
    promptName: string;
    callCount: number;
    totalTokens: number;
    cost: string;
    failed: number;
  };
  users: { name: string; executions: number; errors: number; cost: string };
  errors: { name: string; spans: number; executions: number };
}

/**
 * Returns the ten most frequent users or types of errors of a window, or the thirty most frequent models and names of
 * prompts. A prompt that did not exist yet when its calls were stored has rows without an id as well.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readTop<Kind extends keyof TopRows>(
  clickhouse: ClickHouse,
  kind: Kind,
  { projectId, window }: { projectId: string; window: Window },
): Promise<TopRows[Kind][]> {
  const { joined, select, rest } = tops[kind];
  return readRows<TopRows[Kind]>(clickhouse, {
    query: `SELECT ${select} FROM execution_facts FINAL ${joined} PREWHERE project_id = {projectId:String}
            WHERE start_unix_nano >= ${nanosOf('fromMs')} AND start_unix_nano < ${nanosOf('toMs')} AND ${isRetained}
              AND ${rest}`,
    query_params: { projectId, ...window },
    // Two requests at a time, each with three of these, leave memory for others.
    clickhouse_settings: { ...sumSettings, max_memory_usage: '500000000' },
    format: 'JSONEachRow',
  });
}

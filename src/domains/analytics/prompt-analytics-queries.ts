import { type ClickHouse, sumSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import type { PromptMentions } from '../prompt-links/index.ts';
import { ofTraces, type TokenUsage } from '../spans/index.ts';
import type { Window } from './buckets.ts';
import type { KeyedCalls, PromptFeedback } from './feedback-of-prompt.ts';
import { isRetained } from './retained.ts';
import { distinct, storedCost } from './stats-queries.ts';

const settings = {
  ...sumSettings,
  ...{ max_result_rows: '50000', max_result_bytes: `${32 * 1024 * 1024}`, max_memory_usage: '1000000000' },
} as const;

export const groupings = ['version', 'model', 'environment', 'label'] as const;
export type Grouping = (typeof groupings)[number];

/** Models and environments that begin with the same characters are one group: a series repeats the key for each bucket. */
const keyCharsMax = 256;
const beginning = (column: string) => `leftUTF8(${column}, ${keyCharsMax})`;

/** SQL for the group of a call. A call of a version with several labels belongs to each of them. */
const keys: Readonly<Record<Grouping, string>> = {
  version: "if(one_prompt_version = 0, '', toString(one_prompt_version))",
  model: beginning('one_model'),
  environment: beginning('environment'),
  label: `arrayJoin(if(empty(arrayFilter((label, version) -> version = one_prompt_version,
      {labels:Array(String)}, {versions:Array(UInt32)}) AS labelsOfCall), [''], labelsOfCall))`,
};

/** Calls of one prompt in a window. */
export interface CallsOfPrompt {
  projectId: string;
  window: Window;
  mentions: Omit<PromptMentions, 'id'> & { id: string };
}

/** Sums over calls. Costs are whole nano-USD as text, which a number could not hold. */
export interface CallSums extends TokenUsage {
  executions: number;
  traces: number;
  errors: number;
  users: number;
  /** Calls whose cost is part of the sums, by whether it is known. */
  priced: number;
  unpriced: number;
  /** Calls without a known cost, also those whose usage is part of another one's. */
  costUnknown: number;
  cost: string;
  costP95: number;
  /** The 50th, 75th, 95th and 99th percentile. */
  latencyMs: number[];
  /** Calls with a known time to the first token, and its 50th and 95th percentile. */
  timed: number;
  ttftMs: number[];
  firstNano: string;
  lastNano: string;
  /** Sum and sum of squares of the natural logarithms, over durations and over known costs above 0. */
  logLatency: number;
  logLatencySquares: number;
  logPriced: number;
  logCost: number;
  logCostSquares: number;
}

export interface CallRow extends CallSums {
  /** '' for calls that have no value to group by. */
  key: string;
  /** Start of the bucket in ms since the epoch, as text. */
  bucket: string;
  /** Which of the two the row is summed over: all keys, and all buckets. */
  allKeys: 0 | 1;
  allBuckets: 0 | 1;
  /** Number of groups, also those that are not returned. */
  groups: number;
}

/** The groups and buckets that are read: those with the most calls, and those with these keys. */
export interface ReadGroups {
  groupsMax: number;
  groupsInSeries: number;
  groupKeys: readonly string[];
}

const members = [
  ...['span_id', 'calls', 'start_unix_nano', 'duration_ms', 'ttft_ms', 'status', 'model', 'counted', 'priced'],
  ...['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'total_tokens'],
  ...['cost_nano_usd', 'prompt_id', 'prompt_name', 'prompt_version', 'prompt_key'],
];

/** Calls that mention the prompt by its id, or by what was sent before it was known. */
const isOfPrompt = `(one_prompt_id = {promptId:String}
  OR one_prompt_id = '' AND (one_prompt_name IN {names:Array(String)} OR one_prompt_key IN {keys:Array(String)}))`;

/** Joins the calls of executions that can have one in the window. Only the named members are read. */
function callsFrom(names: readonly string[], also = ''): string {
  return `FROM (
      SELECT trace_id, user_id, environment, ${names.map((name) => `calls.${name} AS all_${name}`).join(', ')}
      FROM execution_facts FINAL PREWHERE project_id = {projectId:String} ${also}
      WHERE start_unix_nano < {toMs:UInt64} * 1000000 AND end_unix_nano >= {fromMs:UInt64} * 1000000 AND ${isRetained}
        AND (has(calls.prompt_id, {promptId:String}) OR hasAny(calls.prompt_name, {names:Array(String)})
          OR hasAny(calls.prompt_key, {keys:Array(String)})))
    ARRAY JOIN ${names.map((name) => `all_${name} AS one_${name}`).join(', ')}
    WHERE one_start_unix_nano >= {fromMs:UInt64} * 1000000 AND one_start_unix_nano < {toMs:UInt64} * 1000000
      AND ${isOfPrompt}`;
}

const tokens = (name: string) => `sumIf(one_${name}, one_counted)::Float64`;
const known = 'one_counted AND one_priced';
const perCall = 'one_cost_nano_usd / one_calls';
const logMs = 'log(greatest(one_duration_ms, 0.001))';
/** Percentiles of arrays take half the time of those of weighted values, which are kept in maps. */
const repeated = (value: string) => `arrayWithConstant(one_calls, ${value})`;
const sums = `sum(one_calls)::Float64 AS executions, ${distinct('trace_id')} AS traces,
  sumIf(one_calls, one_status = 'error')::Float64 AS errors, ${distinct('user_id')} AS users,
  ${tokens('input_tokens')} AS inputTokens, ${tokens('output_tokens')} AS outputTokens,
  ${tokens('cache_read_tokens')} AS cacheReadTokens, ${tokens('cache_write_tokens')} AS cacheWriteTokens,
  ${tokens('reasoning_tokens')} AS reasoningTokens, ${tokens('total_tokens')} AS totalTokens,
  sumIf(one_calls, ${known})::Float64 AS priced, sumIf(one_calls, one_counted AND NOT one_priced)::Float64 AS unpriced,
  sumIf(one_calls, NOT one_priced)::Float64 AS costUnknown,
  toString(sumIf(${storedCost('one_cost_nano_usd')}, ${known})) AS cost,
  ifNotFinite(quantileExactInclusiveArrayIf(0.95)(${repeated(perCall)}, ${known}), 0) AS costP95,
  arrayMap(ms -> ifNotFinite(ms, 0), quantilesExactInclusiveArray(0.5, 0.75, 0.95, 0.99)(${repeated('one_duration_ms')})) AS latencyMs,
  sumIf(one_calls, one_ttft_ms >= 0)::Float64 AS timed,
  arrayMap(ms -> ifNotFinite(ms, 0), quantilesExactInclusiveArrayIf(0.5, 0.95)(${repeated('one_ttft_ms')}, one_ttft_ms >= 0)) AS ttftMs,
  toString(min(one_start_unix_nano)) AS firstNano, toString(max(one_start_unix_nano)) AS lastNano,
  sum(one_calls * ${logMs}) AS logLatency, sum(one_calls * ${logMs} * ${logMs}) AS logLatencySquares,
  sumIf(one_calls, ${known} AND one_cost_nano_usd > 0)::Float64 AS logPriced,
  sumIf(one_calls * log(${perCall}), ${known} AND one_cost_nano_usd > 0) AS logCost,
  sumIf(one_calls * log(${perCall}) * log(${perCall}), ${known} AND one_cost_nano_usd > 0) AS logCostSquares`;

/**
 * Returns the sums of the calls of a prompt for the groups with the most calls, and for each bucket of
 * such a group. Also in all, except by label. Keys can be long and many, so the choice is made in ClickHouse.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readCalls(
  clickhouse: ClickHouse,
  calls: CallsOfPrompt,
  group: Grouped & { starts: readonly number[]; read: ReadGroups },
): Promise<CallRow[]> {
  const { grouping, starts, read } = group;
  // A call can have several labels, so their sum is not that of all calls.
  const all = grouping === 'label' ? '' : ', ()';
  return readRows<CallRow>(clickhouse, {
    query: `SELECT * EXCEPT (ofGroup, place), max(if(allKeys = 1, 0, place)) OVER ()::Float64 AS groups
      FROM (
        SELECT *, dense_rank() OVER (PARTITION BY allKeys ORDER BY ofGroup DESC, key) AS place
        FROM (
          SELECT *, max(executions) OVER (PARTITION BY allKeys, key) AS ofGroup
          FROM (
            SELECT ${keys[grouping]} AS key,
              toString(roundDown(intDiv(one_start_unix_nano, 1000000), {starts:Array(UInt64)})) AS bucket,
              grouping(key)::UInt8 AS allKeys, grouping(bucket)::UInt8 AS allBuckets, ${sums}
            ${callsFrom(members)} GROUP BY GROUPING SETS ((key, bucket), (key)${all}))))
      QUALIFY allKeys = 1 OR place <= if(allBuckets = 1, {groupsMax:UInt32}, {groupsInSeries:UInt32})
        OR allBuckets = 1 AND key IN {groupKeys:Array(String)}`,
    query_params: { ...parametersOf(calls, group), ...read, starts },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
}

/** Feedback on an execution, or on one of its spans. */
type Naming = Pick<PromptFeedback, 'traceId' | 'spanId'>;

/** SQL for whether feedback names the span of a call. One parameter with the ids of traces and spans would be too long. */
const isNamed = `(trace_id, one_span_id) IN arrayZip(reinterpret(unhex({tracesOfSpans:String}), 'Array(FixedString(16))'),
  reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))'))`;

/** Returns the traces that feedback names, and the parameters of {@link isNamed}. */
function namedBy(feedback: readonly Naming[]) {
  const spans = feedback.filter(({ traceId, spanId }) => traceId !== null && spanId !== null);
  return {
    traceIds: [...new Set(feedback.map(({ traceId }) => traceId ?? ''))].join(''),
    tracesOfSpans: spans.map(({ traceId }) => traceId).join(''),
    spanIds: spans.map(({ spanId }) => spanId).join(''),
  };
}

/**
 * Returns the groups of the calls of a prompt in the traces that feedback names. Only the spans that it names have rows
 * of their own, the other calls of a trace have one: so there are few rows, however many calls a trace has.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function readCallKeys(
  clickhouse: ClickHouse,
  calls: CallsOfPrompt,
  group: Grouped & { feedback: readonly Naming[] },
): Promise<KeyedCalls[]> {
  const named = namedBy(group.feedback);
  if (named.traceIds === '') return Promise.resolve([]);
  return readRows<KeyedCalls>(clickhouse, {
    query: `SELECT lower(hex(trace_id)) AS traceId, if(${isNamed}, lower(hex(one_span_id)), '') AS spanId,
        groupUniqArray(${keys[group.grouping]}) AS keys
      ${callsFrom(members, `AND ${ofTraces('{traceIds:String}')}`)} GROUP BY traceId, spanId`,
    query_params: { ...parametersOf(calls, group), ...named },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
}

/** A call of a prompt. Several calls of a large trace can be one, whose `spanId` is all zeros. */
export interface PromptCall {
  traceId: string;
  spanId: string;
  startUnixNano: bigint;
  /** Whether the trace has no other call of the prompt in the window. */
  isOnly: boolean;
}

/**
 * Returns calls of a prompt in the traces that feedback names, which start in the window. If there are more than
 * `limit`, those that the feedback can be about come first, and then the newest.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findPromptCalls(
  clickhouse: ClickHouse,
  calls: CallsOfPrompt,
  { feedback, limit }: { feedback: readonly Naming[]; limit: number },
): Promise<PromptCall[]> {
  if (feedback.length === 0) return [];
  const rows = await readRows<Omit<PromptCall, 'startUnixNano'> & { startUnixNano: string }>(clickhouse, {
    query: `SELECT lower(hex(trace_id)) AS traceId, lower(hex(one_span_id)) AS spanId,
        toString(one_start_unix_nano) AS startUnixNano, (count() OVER (PARTITION BY trace_id) = 1)::Bool AS isOnly
      FROM (SELECT DISTINCT trace_id, one_span_id, one_start_unix_nano
        ${callsFrom(members, `AND ${ofTraces('{traceIds:String}')}`)})
      ORDER BY isOnly OR ${isNamed} DESC, one_start_unix_nano DESC LIMIT {limit:UInt32}`,
    query_params: { ...parametersOf(calls), ...namedBy(feedback), limit },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
  return rows.map(({ startUnixNano, ...row }) => ({ ...row, startUnixNano: BigInt(startUnixNano) }));
}

interface Grouped {
  grouping: Grouping;
  labels: readonly { label: string; version: number }[];
}

function parametersOf({ projectId, window, mentions }: CallsOfPrompt, group?: Grouped) {
  const labels = group?.grouping === 'label' ? group.labels : undefined;
  return {
    ...{ projectId, ...window, promptId: mentions.id, names: mentions.names, keys: mentions.keys },
    ...(labels && { labels: labels.map(({ label }) => label), versions: labels.map(({ version }) => version) }),
  };
}

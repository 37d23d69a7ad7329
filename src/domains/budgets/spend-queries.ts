import { type ClickHouse, sumSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findKnownPrompts } from '../prompt-links/index.ts';
import type { Budget, BudgetScope, Period } from './budget.ts';

const nanosPerMs = 1_000_000n;
const lastUnixNano = 2n ** 64n - 1n;

/** The spend of a period in nano-USD, exact. */
export interface Spend {
  total: bigint;
  /** In the order of the scopes. */
  scopes: bigint[];
  unpricedSpans: number;
  unpricedTokens: number;
  /** By the start of each day that was asked for, also before the period. */
  days: ReadonlyMap<number, bigint>;
}

/** A scope, and the id of the prompt that its value names. */
export type ReadScope = Pick<BudgetScope, 'by' | 'value'> & { promptId?: string | undefined };

interface Row {
  bucket: string;
  cost: string;
  scopes: string[];
  spans: number;
  tokens: number;
}

const joined = ['start_unix_nano', 'calls', 'priced', 'total_tokens', 'cost_nano_usd', 'model', 'prompt_id']
  .concat('prompt_name', 'counted')
  .map((name) => `calls.${name} AS one_${name}`)
  .join(', ');
/** A cost that overflowed 64 bits is stored as a negative number, and counts as the largest one. */
const cost = 'toInt128(if(one_cost_nano_usd < 0, 9223372036854775807, one_cost_nano_usd))';

/** SQL for which calls are in a scope, by its value and the id of the prompt that it names. */
const isInScope: Record<BudgetScope['by'], (value: string, id: string) => string> = {
  model: (value) => `one_model = ${value}`,
  prompt: (value, id) =>
    `one_prompt_id = ${value} OR one_prompt_name = ${value} OR (${id} != '' AND one_prompt_id = ${id})`,
  user: (value) => `user_id = ${value}`,
  environment: (value) => `environment = ${value}`,
};

/** One sum for each scope: fifty take half a microsecond of a call. Arrays of all scopes for each call take ten times as long. */
function sumOfScope({ by }: ReadScope, index: number): string {
  return `toString(sumIf(${cost}, ${isInScope[by](`{value${index}:String}`, `{id${index}:String}`)}))`;
}

/**
 * Returns the spend of a period, by the starts of calls. Every execution is read in its newest
 * version, so that late and replaced spans count. One statement.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readSpend(
  clickhouse: ClickHouse,
  input: { projectId: string; period: Period; scopes: readonly ReadScope[]; days?: readonly number[] },
): Promise<Spend> {
  const { projectId, period, scopes, days = [] } = input;
  const startMs = period.startMs ?? 0;
  const starts = [...new Set([startMs, ...days])].sort((a, b) => a - b);
  const rows = await readRows<Row>(clickhouse, {
    query: `SELECT toString(roundDown(intDiv(one_start_unix_nano, 1000000), {starts:Array(UInt64)})) AS bucket,
              toString(sum(${cost})) AS cost,
              [${scopes.map(sumOfScope).join(', ')}]::Array(String) AS scopes,
              sumIf(one_calls, NOT one_priced)::Float64 AS spans, sumIf(one_total_tokens, NOT one_priced)::Float64 AS tokens
            FROM execution_facts FINAL ARRAY JOIN ${joined} PREWHERE project_id = {projectId:String}
            WHERE start_unix_nano < {to:UInt64} AND end_unix_nano >= {from:UInt64}
              AND one_counted AND one_start_unix_nano >= {from:UInt64} AND one_start_unix_nano < {to:UInt64}
            GROUP BY bucket`,
    query_params: {
      projectId,
      starts,
      from: String(BigInt(starts[0] ?? 0) * nanosPerMs),
      to: String(period.endMs === null ? lastUnixNano : BigInt(period.endMs) * nanosPerMs),
      ...Object.fromEntries(scopes.map(({ value }, index) => [`value${index}`, value])),
      ...Object.fromEntries(scopes.map(({ promptId }, index) => [`id${index}`, promptId ?? ''])),
    },
    clickhouse_settings: sumSettings,
    format: 'JSONEachRow',
  });
  const current = rows.filter(({ bucket }) => Number(bucket) >= startMs);
  return {
    total: current.reduce((sum, row) => sum + BigInt(row.cost), 0n),
    scopes: scopes.map((_, index) => current.reduce((sum, row) => sum + BigInt(row.scopes[index] ?? 0), 0n)),
    unpricedSpans: current.reduce((sum, { spans }) => sum + spans, 0),
    unpricedTokens: current.reduce((sum, { tokens }) => sum + tokens, 0),
    days: new Map(rows.map((row) => [Number(row.bucket), BigInt(row.cost)])),
  };
}

/**
 * Computes the spend of a budget in a period, exact.
 * @throws UnavailableError while a store is unavailable
 */
export async function computeSpend(
  { clickhouse, postgres }: { clickhouse: ClickHouse; postgres: Postgres },
  { projectId, scopes }: Pick<Budget, 'projectId' | 'scopes'>,
  { period, days }: { period: Period; days?: readonly number[] },
): Promise<Spend> {
  const called = scopes.flatMap(({ by, value }) => (by === 'prompt' ? [value] : []));
  const prompts = called.length === 0 ? new Map() : await findKnownPrompts(postgres, projectId, called);
  const idOf = ({ by, value }: BudgetScope) => (by === 'prompt' ? prompts.get(value)?.id : undefined);
  const read = scopes.map((scope) => ({ by: scope.by, value: scope.value, promptId: idOf(scope) }));
  return readSpend(clickhouse, { projectId, period, scopes: read, ...(days === undefined ? {} : { days }) });
}

/**
 * Returns those of the projects of which an execution was summarized after a time, and when the first of these
 * executions began, in ms since the epoch.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findActiveProjects(
  clickhouse: ClickHouse,
  { projectIds, sinceMs }: { projectIds: readonly string[]; sinceMs: number },
): Promise<Map<string, number>> {
  const rows = await readRows<{ project_id: string; first_start_ms: number }>(clickhouse, {
    query: `SELECT project_id, intDiv(min(start_unix_nano), 1000000)::Float64 AS first_start_ms
            FROM executions PREWHERE project_id IN {projectIds:Array(String)}
            WHERE summarized_at >= fromUnixTimestamp64Milli({sinceMs:Int64}, 'UTC') GROUP BY project_id`,
    query_params: { projectIds: [...projectIds], sinceMs },
    clickhouse_settings: { ...sumSettings, max_threads: 1 },
    format: 'JSONEachRow',
  });
  return new Map(rows.map(({ project_id, first_start_ms }) => [project_id, first_start_ms]));
}

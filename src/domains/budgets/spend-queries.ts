import { isId } from '../../lib/ids.ts';
import { type ClickHouse, sumSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findPromptMentions, type PromptMentions } from '../prompt-links/index.ts';
import type { Budget, BudgetScope, Period } from './budget.ts';

const nanosPerMs = 1_000_000n;
const lastUnixNano = 2n ** 64n - 1n;
/** Template texts of the prompts of all scopes, the newest ones: a sum is read often, and each text is looked up. */
const textsMax = 500;

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

/** A part of the spend: the calls of a model, user or environment, of a known prompt, or those that name a prompt so. */
export interface ReadScope {
  by: BudgetScope['by'] | 'name';
  /** The id of a known prompt. */
  value: string;
  /** What calls of a known prompt may contain. */
  prompt?: PromptMentions;
}

interface Row {
  bucket: string;
  cost: string;
  scopes: string[];
  spans: number;
  tokens: number;
}

/** A cost that overflowed 64 bits is stored as a negative number, and counts as the largest one. */
const cost = 'toInt128(if(one_cost_nano_usd < 0, 9223372036854775807, one_cost_nano_usd))';

const idBy = (column: string, texts: string) =>
  `transform(one_${column}, {${texts}:Array(String)}, {idsBy_${texts}:Array(String)}, '')`;
/** SQL for the id of the prompt of a call. One that was stored before its prompt was known has a key or a name instead. */
const promptOfCall = `multiIf(one_prompt_id != '', one_prompt_id,
  ${idBy('prompt_key', 'keys')} != '', ${idBy('prompt_key', 'keys')}, ${idBy('prompt_name', 'names')})`;

/** SQL for what a scope compares with its value, and the members of a call that this reads. */
const compared: Record<ReadScope['by'], { sql: string; members: readonly string[] }> = {
  model: { sql: 'one_model', members: ['model'] },
  prompt: { sql: promptOfCall, members: ['prompt_id', 'prompt_name', 'prompt_key'] },
  name: { sql: 'one_prompt_name', members: ['prompt_name'] },
  user: { sql: 'user_id', members: [] },
  environment: { sql: 'environment', members: [] },
};
const membersOfAll = ['start_unix_nano', 'calls', 'priced', 'total_tokens', 'cost_nano_usd', 'counted'];

/** One sum for each scope: fifty take half a microsecond of a call. Arrays of all scopes for each call take ten times as long. */
function sumOfScope({ by }: ReadScope, index: number): string {
  return `toString(sumIf(${cost}, of_${by} = {value${index}:String}))`;
}

/**
 * Returns SQL of the calls of the period, with what the scopes compare, so that the prompt of a call is found once for
 * all scopes. Only members that it names are read.
 */
function callsFor(scopes: readonly ReadScope[]): string {
  const kinds = [...new Set(scopes.map(({ by }) => by))];
  const members = [...new Set([...membersOfAll, ...kinds.flatMap((by) => compared[by].members)])];
  const selected = [
    ...membersOfAll.map((name) => `one_${name}`),
    ...kinds.map((by) => `${compared[by].sql} AS of_${by}`),
  ];
  return `SELECT ${selected.join(', ')} FROM execution_facts FINAL
    ARRAY JOIN ${members.map((name) => `calls.${name} AS one_${name}`).join(', ')} PREWHERE project_id = {projectId:String}
    WHERE start_unix_nano < {to:UInt64} AND end_unix_nano >= {from:UInt64}
      AND one_counted AND one_start_unix_nano >= {from:UInt64} AND one_start_unix_nano < {to:UInt64}`;
}

/** Returns the parameters of {@link compared}. The text '' names no prompt. */
function parametersOf(scopes: readonly ReadScope[]): Record<string, unknown> {
  const prompts = scopes.flatMap(({ prompt }) => prompt ?? []);
  const idsBy = (texts: 'names' | 'keys') => {
    const ids = new Map(prompts.flatMap((prompt) => prompt[texts].map((text) => [text, prompt.id] as const)));
    ids.set('', '');
    return { [texts]: [...ids.keys()], [`idsBy_${texts}`]: [...ids.values()] };
  };
  const values = Object.fromEntries(scopes.map(({ value }, index) => [`value${index}`, value]));
  return { ...idsBy('names'), ...idsBy('keys'), ...values };
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
            FROM (${callsFor(scopes)}) GROUP BY bucket`,
    query_params: {
      projectId,
      starts,
      from: String(BigInt(starts[0] ?? 0) * nanosPerMs),
      to: String(period.endMs === null ? lastUnixNano : BigInt(period.endMs) * nanosPerMs),
      ...parametersOf(scopes),
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
  const mentions = called.length === 0 ? [] : await findPromptMentions(postgres, projectId, called, { textsMax });
  const prompts = new Map(called.map((value, index) => [value, mentions[index]]));
  const read = scopes.map(({ by, value }) => (by === 'prompt' ? scopeOf(value, prompts.get(value)) : { by, value }));
  return readSpend(clickhouse, { projectId, period, scopes: read, ...(days === undefined ? {} : { days }) });
}

/** Returns the scope of a prompt. A text that is no id, and names no prompt today, is that of the calls that are named so. */
function scopeOf(text: string, prompt: PromptMentions | undefined): ReadScope {
  return prompt !== undefined && isId('prm', prompt.id)
    ? { by: 'prompt', value: prompt.id, prompt }
    : { by: 'name', value: text };
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

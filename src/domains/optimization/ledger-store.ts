import type { Postgres } from '../../stores/postgres/client.ts';
import type { BudgetReason, CallKind, Phase } from '../prompt-search/index.ts';
import { Cancelled, type Lease, LeaseLost, underLease } from './lease.ts';

/** An amount of each thing that a run may use up. */
export interface Amount {
  calls: number;
  tokens: number;
  costNanoUsd: bigint;
}

/** A call before it is sent: attempts of one key are numbered from 1. */
export interface CallToReserve {
  key: string;
  attempt: number;
  kind: CallKind;
  phase: Phase;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: bigint;
}

/**
 * Reserves what a call may use, and writes it to the journal, in one statement: used, reserved and
 * the need together never exceed a limit. Returns the limit that has no room, or undefined.
 * @throws LeaseLost, Cancelled
 */
export async function reserveCall(
  postgres: Postgres,
  lease: Lease,
  need: CallToReserve,
): Promise<BudgetReason | undefined> {
  const { key, attempt, kind, phase, inputTokens, outputTokens, costNanoUsd } = need;
  const [isFinal, tokens, cost] = [phase === 'holdout', inputTokens + outputTokens, String(costNanoUsd)];
  const { rows } = await postgres.raw<{ rows: unknown[] }>(
    `with need as (
       select ?::boolean as final, 1 as calls, ?::bigint as tokens, ?::bigint as nano_usd
     ), room as (
       update optimization_runs set
         reserved_calls = reserved_calls + need.calls,
         reserved_tokens = reserved_tokens + need.tokens,
         reserved_nano_usd = reserved_nano_usd + need.nano_usd,
         holdout_calls = case when final then greatest(0, holdout_calls - need.calls) else holdout_calls end,
         holdout_tokens = case when final then greatest(0, holdout_tokens - need.tokens) else holdout_tokens end,
         holdout_nano_usd = case when final then greatest(0, holdout_nano_usd - need.nano_usd) else holdout_nano_usd end
       from need
       where project_id = ? and id = ? and lease_token = ? and state = 'running'
         and not exists (select 1 from optimization_calls c
           where c.project_id = ? and c.run_id = ? and c.call_key = ? and c.attempt = ?)
         and (limit_calls is null or limit_calls >= used_calls + reserved_calls + need.calls
           + case when final then 0 else holdout_calls end)
         and (limit_tokens is null or limit_tokens >= used_tokens + reserved_tokens + need.tokens
           + case when final then 0 else holdout_tokens end)
         and (limit_nano_usd is null or limit_nano_usd >= used_nano_usd + reserved_nano_usd + need.nano_usd
           + case when final then 0 else holdout_nano_usd end)
       returning project_id, id
     )
     insert into optimization_calls
       (project_id, run_id, call_key, attempt, kind, phase, reserved_tokens, reserved_output_tokens, reserved_nano_usd)
     select room.project_id, room.id, ?, ?, ?, ?, ?, ?, ? from room returning 1`,
    [
      ...[isFinal, tokens, cost, lease.projectId, lease.runId, lease.token],
      ...[lease.projectId, lease.runId, key, attempt],
      ...[key, attempt, kind, phase, tokens, outputTokens, cost],
    ],
  );
  if (rows.length > 0) return undefined;
  // The statement may have run before, when its response was lost.
  if (await isReserved(postgres, lease, key, attempt)) return undefined;
  const full = await whatIsFull(postgres, lease, { isFinal, tokens, cost });
  // A call that was settled in between may have made room.
  return full ?? reserveCall(postgres, lease, need);
}

/** @throws LeaseLost if another worker knows what became of the call */
async function isReserved(postgres: Postgres, lease: Lease, key: string, attempt: number): Promise<boolean> {
  const row = await postgres('optimization_calls')
    .where({ project_id: lease.projectId, run_id: lease.runId, call_key: key, attempt })
    .first<{ state: string } | undefined>('state');
  if (row !== undefined && row.state !== 'reserved') throw new LeaseLost();
  return row !== undefined;
}

async function whatIsFull(
  postgres: Postgres,
  lease: Lease,
  { isFinal, tokens, cost }: { isFinal: boolean; tokens: number; cost: string },
): Promise<BudgetReason | undefined> {
  const isFull = (what: string, need: number | string) => {
    const kept = isFinal ? '' : ` + holdout_${what}`;
    return postgres.raw(
      `coalesce(limit_${what} < used_${what} + reserved_${what} + ?::bigint${kept}, false) as ${what}`,
      [need],
    );
  };
  const row = await postgres('optimization_runs')
    .where(underLease(lease))
    .first<{ state: string; calls: boolean; tokens: boolean; nano_usd: boolean } | undefined>(
      ...['state', isFull('calls', 1), isFull('tokens', tokens), isFull('nano_usd', cost)],
    );
  if (row === undefined) throw new LeaseLost();
  if (row.state !== 'running') throw new Cancelled();
  if (row.calls) return 'budget_calls';
  if (row.tokens) return 'budget_tokens';
  return row.nano_usd ? 'budget_cost' : undefined;
}

/** Keeps an amount for the final evaluation, less what its finished calls have used. */
export async function storeHoldoutReserve(postgres: Postgres, lease: Lease, need: Amount): Promise<void> {
  await postgres.raw(
    `update optimization_runs set
       holdout_calls = greatest(0, ?::integer - done.calls), holdout_tokens = greatest(0, ?::bigint - done.tokens),
       holdout_nano_usd = greatest(0, ?::bigint - done.nano_usd)
     from (select count(*)::integer as calls, coalesce(sum(reserved_tokens), 0)::bigint as tokens,
         coalesce(sum(reserved_nano_usd), 0)::bigint as nano_usd
       from optimization_calls
       where project_id = ? and run_id = ? and phase = 'holdout' and state in ('done', 'failed')) as done
     where project_id = ? and id = ? and lease_token = ?`,
    [
      ...[need.calls, need.tokens, String(need.costNanoUsd), lease.projectId, lease.runId],
      ...[lease.projectId, lease.runId, lease.token],
    ],
  );
}

/** What became of a call. `billed` is what it has used; null if the provider has billed nothing. */
export interface Settlement {
  state: 'done' | 'failed' | 'unknown';
  billed: { inputTokens: number; outputTokens: number; costNanoUsd: bigint | null; isEstimate: boolean } | null;
  /** False if the call will be sent again. */
  isFinal: boolean;
  response: string | null;
  error: { code: string; message: string } | null;
  latencyMs: number | null;
}

/**
 * Stores the outcome of a reserved call, and counts what it has used instead of what it had reserved.
 * @throws LeaseLost
 */
export async function settleCall(
  postgres: Postgres,
  lease: Lease,
  { key, attempt }: Pick<CallToReserve, 'key' | 'attempt'>,
  { state, billed, isFinal, response, error, latencyMs }: Settlement,
): Promise<void> {
  const { inputTokens = 0, outputTokens = 0, costNanoUsd = null, isEstimate = false } = billed ?? {};
  const cost = costNanoUsd === null ? null : String(costNanoUsd);
  const { rows } = await postgres.raw<{ rows: { settled: number }[] }>(
    `with mine as (
       select id from optimization_runs where project_id = ? and id = ? and lease_token = ? for update
     ), call as (
       update optimization_calls set state = ?, billed = ?, final = ?, response = ?, error_code = ?, error_message = ?,
         input_tokens = ?, output_tokens = ?, cost_nano_usd = ?, latency_ms = ?
       from mine where project_id = ? and run_id = mine.id and call_key = ? and attempt = ? and state = 'reserved'
       returning kind, reserved_tokens, reserved_nano_usd
     ), run as (
       update optimization_runs set
         reserved_calls = reserved_calls - 1,
         reserved_tokens = optimization_runs.reserved_tokens - call.reserved_tokens,
         reserved_nano_usd = optimization_runs.reserved_nano_usd - call.reserved_nano_usd,
         used_calls = used_calls + ?::integer, used_tokens = used_tokens + ?::bigint,
         used_nano_usd = used_nano_usd + ?::bigint,
         input_tokens = optimization_runs.input_tokens + ?::bigint,
         output_tokens = optimization_runs.output_tokens + ?::bigint,
         task_calls = task_calls + case call.kind when 'task' then ?::integer else 0 end,
         reflect_calls = reflect_calls + case call.kind when 'reflect' then ?::integer else 0 end,
         judge_calls = judge_calls + case call.kind when 'judge' then ?::integer else 0 end,
         usage_estimated = usage_estimated or ?::boolean
       from call where project_id = ? and id = ?
     )
     select count(*)::integer as settled from mine`,
    [
      ...[lease.projectId, lease.runId, lease.token],
      ...[state, billed !== null, isFinal, response, error?.code ?? null, error?.message ?? null],
      ...[inputTokens, outputTokens, cost, latencyMs],
      ...[lease.projectId, key, attempt],
      ...[Number(billed !== null), inputTokens + outputTokens, cost ?? '0', inputTokens, outputTokens],
      ...[Number(billed !== null), Number(billed !== null), Number(billed !== null), isEstimate],
      ...[lease.projectId, lease.runId],
    ],
  );
  if (rows[0]?.settled !== 1) throw new LeaseLost();
}

import { randomUUID } from 'node:crypto';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Lease, leaseMs, underLease } from './lease.ts';
import type { Run, RunState } from './run.ts';
import { type RunRow, toRun } from './run-row.ts';

/** The progress of a run with the time since the last worker had it, if one had it. */
const withIdleTime = `case when heartbeat_at is null then progress else (progress::jsonb || jsonb_build_object('idleMs',
  coalesce((progress->>'idleMs')::bigint, 0)
    + greatest(0, extract(epoch from clock_timestamp() - heartbeat_at) * 1000)::bigint))::json end`;

/**
 * Takes a run that has not ended and that no living worker has. The calls that an earlier worker left
 * open become unknown, and count as spent. Returns undefined if the run cannot be taken.
 */
export async function claimRun(
  transaction: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
): Promise<{ run: Run; lease: Lease } | undefined> {
  const token = randomUUID();
  const [claimed]: RunRow[] = await transaction('optimization_runs')
    .where({ project_id: projectId, id: runId })
    .whereIn('state', ['queued', 'running', 'cancelling'])
    .where((free) =>
      free
        .whereNull('lease_token')
        .orWhere('heartbeat_at', '<', transaction.raw(`clock_timestamp() - ? * interval '1 millisecond'`, [leaseMs])),
    )
    .update({
      lease_token: token,
      attempt: transaction.raw('attempt + 1'),
      losses: transaction.raw('losses + (lease_token is not null)::int'),
      state: transaction.raw(`case state when 'queued' then 'running' else state end`),
      progress: transaction.raw(withIdleTime),
      heartbeat_at: transaction.raw('clock_timestamp()'),
      started_at: transaction.raw('coalesce(started_at, clock_timestamp())'),
      revision: transaction.raw('revision + 1'),
    })
    .returning('*');
  if (claimed === undefined) return undefined;
  const lease = { projectId, runId, token };
  await loseOpenCalls(transaction, lease);
  return { run: toRun(claimed), lease };
}

/** Makes the open calls of a run unknown. What they have reserved becomes used. */
export async function loseOpenCalls(transaction: Postgres, { projectId, runId }: Omit<Lease, 'token'>): Promise<void> {
  await transaction.raw(
    `with lost as (
       update optimization_calls set state = 'unknown', billed = true
       where project_id = ? and run_id = ? and state = 'reserved'
       returning kind, reserved_tokens - reserved_output_tokens as input, reserved_output_tokens as output
     ), counted as (
       select count(*) filter (where kind = 'task') as task, count(*) filter (where kind = 'reflect') as reflect,
         count(*) filter (where kind = 'judge') as judge, coalesce(sum(input), 0)::bigint as input,
         coalesce(sum(output), 0)::bigint as output from lost
     )
     update optimization_runs set used_calls = used_calls + reserved_calls, used_tokens = used_tokens + reserved_tokens,
       used_nano_usd = used_nano_usd + reserved_nano_usd, reserved_calls = 0, reserved_tokens = 0, reserved_nano_usd = 0,
       holdout_calls = 0, holdout_tokens = 0, holdout_nano_usd = 0,
       task_calls = task_calls + counted.task, reflect_calls = reflect_calls + counted.reflect,
       judge_calls = judge_calls + counted.judge, input_tokens = input_tokens + counted.input,
       output_tokens = output_tokens + counted.output, usage_estimated = usage_estimated or reserved_calls > 0
     from counted where project_id = ? and id = ?`,
    [projectId, runId, projectId, runId],
  );
}

/** What the holder of a lease learns when it renews it. */
export interface Pulse {
  state: RunState;
  promptDeleted: boolean;
}

/** Renews a lease. Returns undefined if it is lost. */
export async function renewLease(postgres: Postgres, lease: Lease): Promise<Pulse | undefined> {
  const { rows } = await postgres.raw<{ rows: { state: RunState; prompt_deleted: boolean }[] }>(
    `update optimization_runs set heartbeat_at = clock_timestamp()
     from prompts where prompts.project_id = ? and prompts.id = optimization_runs.prompt_id
       and optimization_runs.project_id = ? and optimization_runs.id = ? and lease_token = ?
     returning state, prompts.deleted_at is not null as prompt_deleted`,
    [lease.projectId, lease.projectId, lease.runId, lease.token],
  );
  const [row] = rows;
  return row && { state: row.state, promptDeleted: row.prompt_deleted };
}

/**
 * Gives a run back to the queue, for another worker, and notes when it had a worker last. Does nothing if the lease is
 * lost.
 */
export async function releaseLease(transaction: Postgres, lease: Lease): Promise<void> {
  const released = await transaction('optimization_runs')
    .where(underLease(lease))
    .whereIn('state', ['running', 'cancelling'])
    .update({
      ...{ lease_token: null, heartbeat_at: transaction.raw('clock_timestamp()'), enqueued_at: null },
      state: transaction.raw(`case state when 'running' then 'queued' else state end`),
      revision: transaction.raw('revision + 1'),
    });
  if (released > 0) await loseOpenCalls(transaction, lease);
}

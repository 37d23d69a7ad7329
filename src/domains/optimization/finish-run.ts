import type { Postgres } from '../../stores/postgres/client.ts';
import { recordEvent } from '../events/index.ts';
import type { Decision, RunErrorCode } from '../prompt-search/index.ts';
import { type Lease, underLease } from './lease.ts';
import { loseOpenCalls } from './lease-store.ts';
import type { Run } from './run.ts';
import { insertRunEvents } from './run-event-store.ts';
import { type RunRow, toRun } from './run-row.ts';

/** How a run ends. */
export type Ending =
  | { state: 'completed'; decision: Decision }
  | { state: 'failed'; error: { code: RunErrorCode; message: string } }
  | { state: 'cancelled' };

/** From which states a run may end so. A run that shall be cancelled no longer completes. */
const endsFrom = {
  completed: ['running'],
  failed: ['queued', 'running', 'cancelling'],
  cancelled: ['queued', 'cancelling'],
} as const satisfies Record<Ending['state'], readonly Run['state'][]>;

const messageCharactersMax = 2_000;

/**
 * Ends a run, once: its state, the event for webhooks and that for its readers, and its reservation of
 * the budget, in the caller's transaction. Without a lease, the run must be one that no worker has.
 * Returns undefined, and changes nothing, if the run is in no state that can end so.
 */
export async function finishRun(
  transaction: Postgres,
  owner: Lease | (Omit<Lease, 'token'> & { token?: undefined }),
  ending: Ending,
): Promise<Run | undefined> {
  const { projectId, runId } = owner;
  const query = transaction('optimization_runs').whereIn('state', [...endsFrom[ending.state]]);
  if (owner.token === undefined) query.where({ project_id: projectId, id: runId }).whereNull('lease_token');
  else query.where(underLease(owner));
  const [row]: RunRow[] = await query
    .update({
      ...columnsOf(ending),
      state: ending.state,
      finished_at: transaction.raw('clock_timestamp()'),
      ...{ lease_token: null, heartbeat_at: null, enqueued_at: null },
      revision: transaction.raw('revision + 1'),
    })
    .returning('*');
  if (row === undefined) return undefined;
  await loseOpenCalls(transaction, owner);
  const run = toRun(row);
  await recordEvent(transaction, {
    ...{ workspaceId: run.workspaceId, projectId, type: 'optimization.finished' },
    data: {
      ...{ project_id: projectId, prompt_id: run.promptId, run_id: runId, status: ending.state },
      ...{ outcome: run.outcome, created_version: run.appliedVersion },
    },
  });
  const state = { status: run.state, outcome: run.outcome, finish_reason: run.finishReason, error: run.error };
  await insertRunEvents(transaction, owner, [{ type: 'state', data: state }]);
  return run;
}

function columnsOf(ending: Ending) {
  if (ending.state === 'cancelled') return { finish_reason: 'cancelled' };
  if (ending.state === 'failed') {
    const { code, message } = ending.error;
    return { finish_reason: 'error', error: JSON.stringify({ code, message: message.slice(0, messageCharactersMax) }) };
  }
  const { decision } = ending;
  return {
    ...{ outcome: decision.outcome, finish_reason: decision.finishReason, decision: JSON.stringify(decision) },
  };
}

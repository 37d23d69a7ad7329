import type { Postgres } from '../../stores/postgres/client.ts';
import type { CallOutcome } from '../prompt-search/index.ts';
import type { Lease } from './lease.ts';
import type { Amount } from './ledger-store.ts';

/** What earlier attempts of a run have left. */
export interface Journal {
  /** The last attempt of each key, whether its call has finished, and whether the attempt was lost. */
  calls: Map<string, { attempt: number; isFinished: boolean; isLost: boolean }>;
  /** What calls without a known response have used. */
  lost: Amount;
}

/** Keys that one statement reads. */
const keysAtOnce = 5_000;

/** Reads which calls of a run were made before, a part at a time. A run can have some hundred thousand. */
export async function readJournal(postgres: Postgres, { projectId, runId }: Lease): Promise<Journal> {
  const owner = { project_id: projectId, run_id: runId };
  const calls: Journal['calls'] = new Map();
  for (let [after, count] = ['', keysAtOnce]; count === keysAtOnce; ) {
    const rows = await postgres('optimization_calls')
      .where(owner)
      .where('call_key', '>', after)
      .groupBy('call_key')
      .orderBy('call_key')
      .limit(keysAtOnce)
      .select<{ call_key: string; attempt: number; finished: boolean; lost: boolean }[]>(
        ...['call_key', postgres.raw('max(attempt) as attempt')],
        postgres.raw(`(array_agg(state order by attempt desc))[1] = 'unknown' as lost`),
        postgres.raw(`bool_or(state in ('done', 'failed') and final) as finished`),
      );
    for (const { call_key, attempt, finished, lost } of rows)
      calls.set(call_key, { attempt, isFinished: finished, isLost: lost });
    [after, count] = [rows.at(-1)?.call_key ?? '', rows.length];
  }
  const unknown = await postgres('optimization_calls')
    .where({ ...owner, state: 'unknown' })
    .first<{ calls: number; tokens: string; nano_usd: string } | undefined>(
      postgres.raw('count(*)::integer as calls'),
      postgres.raw('coalesce(sum(reserved_tokens), 0)::text as tokens'),
      postgres.raw('coalesce(sum(reserved_nano_usd), 0)::text as nano_usd'),
    );
  return {
    calls,
    lost: {
      ...{
        calls: unknown?.calls ?? 0,
        tokens: Number(unknown?.tokens ?? 0),
        costNanoUsd: BigInt(unknown?.nano_usd ?? 0),
      },
    },
  };
}

interface CallRow {
  attempt: number;
  state: 'done' | 'failed';
  billed: boolean;
  response: string | null;
  error_code: string | null;
  error_message: string | null;
  input_tokens: string | null;
  output_tokens: string | null;
  cost_nano_usd: string | null;
  latency_ms: number | null;
}

/** Reads the outcome of a finished call, and what all its attempts have used. */
export async function readOutcome(
  postgres: Postgres,
  { projectId, runId }: Lease,
  key: string,
): Promise<{ outcome: CallOutcome; used: Amount } | undefined> {
  const rows = await postgres('optimization_calls')
    .where({ project_id: projectId, run_id: runId, call_key: key })
    .whereIn('state', ['done', 'failed'])
    .orderBy('attempt')
    .select<CallRow[]>(
      ...['attempt', 'state', 'billed', 'response', 'error_code', 'error_message'],
      ...['input_tokens', 'output_tokens', 'cost_nano_usd', 'latency_ms'],
    );
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const used = { calls: 0, tokens: 0, costNanoUsd: 0n };
  for (const row of rows) {
    used.calls += Number(row.billed);
    used.tokens += Number(row.input_tokens ?? 0) + Number(row.output_tokens ?? 0);
    used.costNanoUsd += BigInt(row.cost_nano_usd ?? 0);
  }
  return { outcome: outcomeOf(last), used };
}

function outcomeOf(row: CallRow): CallOutcome {
  if (row.state === 'failed') {
    return { ok: false, code: row.error_code ?? 'unknown', message: row.error_message ?? 'The call failed' };
  }
  return {
    ok: true,
    result: {
      text: row.response ?? '',
      inputTokens: Number(row.input_tokens ?? 0),
      outputTokens: Number(row.output_tokens ?? 0),
      costNanoUsd: row.cost_nano_usd === null ? null : BigInt(row.cost_nano_usd),
      latencyMs: row.latency_ms ?? 0,
    },
  };
}

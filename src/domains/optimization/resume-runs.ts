import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type QueuedRun, takeQueuedRuns } from './queue-store.ts';

/** All leases are old when Postgres is back after an outage. In this time, the workers that live renew theirs. */
const renewalMs = 1_500;

export interface EnqueueRunsDeps {
  postgres: Postgres;
  enqueueRuns: (runs: readonly QueuedRun[]) => Promise<void>;
}

export interface ResumeRunsDeps extends EnqueueRunsDeps {
  /** Aborted when the worker stops. */
  stopping: AbortSignal;
}

/**
 * Makes jobs for queued runs, and again for runs whose job is lost; `withLost` also for those whose worker is.
 * Postgres knows which runs there are, so runs are neither lost with Redis nor made twice.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function enqueueQueuedRuns(
  { postgres, enqueueRuns }: EnqueueRunsDeps,
  { withLost } = { withLost: false },
): Promise<void> {
  const runs = await takeQueuedRuns(postgres, { withLost });
  if (runs.length > 0) await enqueueRuns(runs);
}

/**
 * Makes jobs for queued runs at once, and for those whose worker is lost after a pause: the first statement shows
 * that Postgres is available, so a worker that lives has renewed its lease in the pause.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function resumeRuns(
  deps: ResumeRunsDeps,
  pause = () => sleep(renewalMs, undefined, { signal: deps.stopping }).catch(() => undefined),
): Promise<void> {
  await enqueueQueuedRuns(deps);
  await pause();
  if (!deps.stopping.aborted) await enqueueQueuedRuns(deps, { withLost: true });
}

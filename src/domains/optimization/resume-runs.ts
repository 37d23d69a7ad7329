import type { Postgres } from '../../stores/postgres/client.ts';
import { type QueuedRun, takeQueuedRuns } from './queue-store.ts';

export interface ResumeRunsDeps {
  postgres: Postgres;
  enqueueRuns: (runs: readonly QueuedRun[]) => Promise<void>;
}

/**
 * Makes jobs for queued runs, and again for runs whose job or worker is lost. Postgres knows which
 * runs there are, so runs are neither lost with Redis nor made twice.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function resumeRuns({ postgres, enqueueRuns }: ResumeRunsDeps): Promise<void> {
  const runs = await takeQueuedRuns(postgres);
  if (runs.length > 0) await enqueueRuns(runs);
}

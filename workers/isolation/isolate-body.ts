import { setTimeout as sleep } from 'node:timers/promises';
import { type QuarantineBodyDeps, quarantineBody } from '../../src/domains/ingestion/jobs.ts';
import { UnavailableError } from '../../src/lib/errors.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import type { IsolatedOutcome, IsolatedProcess } from './isolated-process.ts';

/** How often a body is tried alone that ends so, and what its quarantine says of it; `waiting` has no end. */
const tries = {
  hopeless: { max: 1, said: () => '' },
  failed: { max: 3, said: (count: number) => `Failed ${count} times alone: ` },
  crashed: { max: 2, said: (count: number) => `Crashed ${count} workers alone: ` },
} as const satisfies Partial<Record<IsolatedOutcome['outcome'], { max: number; said: (count: number) => string }>>;

const pauseMs = 500;

export type IsolateBodyDeps = QuarantineBodyDeps & { isolated: Pick<IsolatedProcess, 'run'> };

/**
 * Works on a body alone, in a process of its own, after it was under way in several crashes or failed for no known reason. An innocent
 * one is stored; one that fails again with nothing beside it goes to the quarantine. The lane is shared by all workspaces, and served
 * in turn between them: one body at a time, for a minute a try at most. Throws UnavailableError when it waits for an engine: the
 * others then have their turn first.
 */
export async function isolateBody(deps: IsolateBodyDeps, jobId: string, payload: IngestBodyPayload): Promise<void> {
  const counts = { hopeless: 0, failed: 0, crashed: 0 };
  for (let attempts = 1; ; attempts++) {
    const result = await deps.isolated.run({ jobId, payload });
    if (result.outcome === 'stored') return;
    if (result.outcome === 'waiting') throw new UnavailableError('dependency_unavailable', result.reason);
    const count = ++counts[result.outcome];
    const { max, said } = tries[result.outcome];
    if (count >= max) {
      await quarantineBody(deps, { jobId, job: payload, reason: said(count) + result.reason, attempts });
      return;
    }
    await sleep(pauseMs);
  }
}

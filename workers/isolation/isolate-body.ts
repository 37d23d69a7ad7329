import { setTimeout as sleep } from 'node:timers/promises';
import { type QuarantineBodyDeps, quarantineBody } from '../../src/domains/ingestion/jobs.ts';
import { UnavailableError } from '../../src/lib/errors.ts';
import type { IngestBodyPayload, IngestOutcome } from '../../src/queue/job-catalog.ts';
import type { JobFacts } from '../../src/queue/job-facts.ts';
import type { IsolatedOutcome, IsolatedProcess } from './isolated-process.ts';

/**
 * Maximum tries of a body alone per outcome, and how the quarantine entry reports them. `waiting`
 * has no limit.
 */
const tries = {
  hopeless: { max: 1, said: () => '' },
  failed: { max: 3, said: (count: number) => `Failed ${count} times alone: ` },
  crashed: { max: 2, said: (count: number) => `Crashed ${count} workers alone: ` },
} as const satisfies Partial<Record<IsolatedOutcome['outcome'], { max: number; said: (count: number) => string }>>;

const pauseMs = 500;

export type IsolateBodyDeps = QuarantineBodyDeps & { isolated: Pick<IsolatedProcess, 'run'> };

/**
 * Processes a body alone in a separate process, after it was in progress during several crashes or
 * failed for an unknown reason. A body without a fault is stored; one that fails again alone goes
 * to the quarantine. All workspaces share this and are served in turn: one body at a time, for at
 * most a minute per try. Resolves to which of the two happened.
 * @throws UnavailableError when the body waits for an unavailable dependency, so that the other
 * bodies go first, and when this worker has lost the job
 */
export async function isolateBody(
  deps: IsolateBodyDeps,
  { id: jobId, isOurs }: Pick<JobFacts, 'id' | 'isOurs'>,
  payload: IngestBodyPayload,
): Promise<Exclude<IngestOutcome, 'isolated'>> {
  const counts = { hopeless: 0, failed: 0, crashed: 0 };
  for (let attempts = 1; ; attempts++) {
    const result = await deps.isolated.run({ jobId, payload });
    if (result.outcome === 'stored') return 'stored';
    if (result.outcome === 'waiting') throw new UnavailableError('dependency_unavailable', result.reason);
    const count = ++counts[result.outcome];
    const { max, said } = tries[result.outcome];
    if (count >= max) {
      // After a pause of this worker another one may have the job, or have finished it and dropped the body.
      if (!(await isOurs())) throw new UnavailableError('dependency_unavailable', 'This worker has lost the job');
      await quarantineBody(deps, { jobId, job: payload, reason: said(count) + result.reason, attempts });
      return 'quarantined';
    }
    await sleep(pauseMs);
  }
}

import { UnavailableError } from '../../src/lib/errors.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import type { IsolatedProcess } from './isolated-process.ts';
import { type QuarantineBodyDeps, quarantineBody } from './quarantine-body.ts';

const crashesMax = 2;

export type IsolateBodyDeps = QuarantineBodyDeps & { isolated: IsolatedProcess };

/**
 * Works on a body alone, in a process of its own, after it was under way in several crashes. An innocent one is stored; one that
 * crashes twice with nothing beside it goes to the quarantine. Throws UnavailableError when it failed for want of an engine.
 */
export async function isolateBody(deps: IsolateBodyDeps, jobId: string, payload: IngestBodyPayload): Promise<void> {
  for (let crashes = 1; ; crashes++) {
    const result = await deps.isolated.run({ jobId, payload });
    if (result.outcome === 'stored') return;
    if (result.outcome === 'failed') throw new UnavailableError('dependency_unavailable', result.reason);
    if (result.outcome === 'crashed' && crashes < crashesMax) continue;
    const reason = result.outcome === 'crashed' ? `Crashed ${crashes} workers alone: ${result.reason}` : result.reason;
    await quarantineBody(deps, { jobId, job: payload, reason, attempts: crashes });
    return;
  }
}

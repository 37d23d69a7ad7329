import type { Job, Queue } from 'bullmq';
import { type IngestBodyPayload, type IngestOutcome, jobCatalog } from '../../../queue/job-catalog.ts';
import type { JobFacts } from '../../../queue/job-facts.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import type { LatencyRecorder } from '../../../telemetry/latency.ts';
import { type QuarantineBodyDeps, quarantineBody } from '../quarantine/quarantine-body.ts';
import { type IngestBodyDeps, ingestBody, isHopeless, MissingBodyError } from './ingest-body.ts';
import { isKnownToPass } from './passing-errors.ts';

/** After this many crashes with it under way a body is worked on alone; most of its neighbours are innocent. */
const crashesMax = 2;
/** After this many attempts the same, once it fails for a reason that is not known to pass. */
const attemptsMax = 5;

export type IngestOrIsolateDeps = IngestBodyDeps &
  QuarantineBodyDeps & {
    isolation: Queue;
    latency: LatencyRecorder;
    clock: Pick<RedisClock, 'nowMs'>;
    countStored: (spans: number) => void;
  };

/**
 * Stores the body's spans, or puts the body where it cannot harm others: a process of its own, or the quarantine. Unless it is
 * `isolated`, nobody needs it in Redis any more.
 */
export async function ingestOrIsolate(
  deps: IngestOrIsolateDeps,
  job: JobFacts,
  payload: IngestBodyPayload,
): Promise<IngestOutcome> {
  if (job.stalledCounter >= crashesMax) return isolate(deps, job, payload);
  try {
    await ingestBody(deps, job.id, payload);
  } catch (error) {
    if (!isHopeless(error)) {
      if (isKnownToPass(error) || job.attemptsMade + 1 < attemptsMax) throw error;
      deps.logger.warn({ err: error, job_id: job.id }, 'body fails again and again, to be tried alone');
      return isolate(deps, job, payload);
    }
    if (error instanceof MissingBodyError && !(await job.isOurs())) {
      deps.logger.info({ job_id: job.id, project_id: payload.projectId }, 'another worker has ended this body');
      return 'stored'; // Of a job that is no longer this worker's nothing is noted.
    }
    await quarantineBody(deps, {
      jobId: job.id,
      job: payload,
      reason: error.message,
      attempts: job.attemptsMade + 1,
    });
    return 'quarantined';
  }
  deps.latency.record('freshness', deps.clock.nowMs() - payload.receivedAtMs);
  deps.countStored(payload.spans);
  return 'stored';
}

async function isolate(deps: IngestOrIsolateDeps, job: JobFacts, payload: IngestBodyPayload): Promise<'isolated'> {
  const { attempts, removeOnComplete } = jobCatalog.isolateBody;
  const priority = await placeAmongOwn(deps.isolation, payload.workspaceId);
  const options = { jobId: job.id, attempts, removeOnComplete, backoff: { type: 'custom' }, priority };
  await deps.isolation.add('isolateBody', payload, options);
  return 'isolated';
}

/** Bodies of a workspace that are counted, and so the last place that its bodies have. */
const placesMax = 1_000;

/** One more than the workspace has waiting there: its second body comes after the first of every other workspace. */
async function placeAmongOwn(isolation: Queue, workspaceId: string): Promise<number> {
  const waiting: Job<IngestBodyPayload>[] = await isolation.getJobs(['prioritized', 'delayed'], 0, placesMax - 1);
  return 1 + waiting.filter(({ data }) => data.workspaceId === workspaceId).length;
}

import type { Job, Queue } from 'bullmq';
import { cachedFor } from '../../../lib/cached-for.ts';
import { countTry } from '../../../queue/count-try.ts';
import { type IngestBodyPayload, type IngestOutcome, jobCatalog, retryOptions } from '../../../queue/job-catalog.ts';
import type { JobFacts } from '../../../queue/job-facts.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import { bodyTriesKey } from '../../../stores/redis/names.ts';
import type { LatencyRecorder } from '../../../telemetry/latency.ts';
import { type QuarantineBodyDeps, quarantineBody } from '../quarantine/quarantine-body.ts';
import { isKnownToPass } from './body-errors.ts';
import { type IngestBodyDeps, ingestBody, isHopeless, MissingBodyError } from './ingest-body.ts';

/**
 * After this many crashes while a body was under way, it is worked on alone. Most bodies that were
 * under way beside it are not the cause.
 */
const crashesMax = 2;
/** After so many failures for a reason that is not known to pass, a body is worked on alone. */
const failuresMax = 5;

export type IngestOrIsolateDeps = IngestBodyDeps &
  QuarantineBodyDeps & {
    isolation: Queue;
    latency: LatencyRecorder;
    clock: Pick<RedisClock, 'nowMs'>;
    countStored: (spans: number) => void;
  };

/**
 * Stores the spans of a body. A body that could harm others goes to a process of its own, or to the
 * quarantine. Unless the outcome is `isolated`, the body in Redis is no longer needed.
 */
export async function ingestOrIsolate(
  deps: IngestOrIsolateDeps,
  job: JobFacts,
  payload: IngestBodyPayload,
): Promise<IngestOutcome> {
  if (job.stalledCounter >= crashesMax) return isolate(deps, job, payload);
  try {
    await ingestBody(deps, job, payload);
  } catch (error) {
    if (!isHopeless(error)) {
      if (isKnownToPass(error)) throw error;
      if ((await countTry(deps.redis, bodyTriesKey(payload.projectId, job.id))) < failuresMax) throw error;
      deps.logger.warn({ err: error, job_id: job.id }, 'body fails repeatedly and is tried alone');
      return isolate(deps, job, payload);
    }
    if (error instanceof MissingBodyError && !(await job.isOurs())) {
      deps.logger.info({ job_id: job.id, project_id: payload.projectId }, 'another worker has finished this body');
      return 'stored'; // BullMQ records no result of a job that this worker has lost.
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
  if (payload.signal !== 'logs') deps.countStored(payload.spans);
  return 'stored';
}

async function isolate(deps: IngestOrIsolateDeps, job: JobFacts, payload: IngestBodyPayload): Promise<'isolated'> {
  const { attempts, removeOnComplete } = jobCatalog.isolateBody;
  const priority = await placeAmongOwn(deps.isolation, payload.workspaceId);
  const options = { jobId: job.id, attempts, removeOnComplete, ...retryOptions, priority };
  await deps.isolation.add('isolateBody', payload, options);
  return 'isolated';
}

/** Waiting bodies per job state that are counted. They bound the priority number. */
const placesMax = 1_000;
/** Reading a thousand jobs takes about 0.1 s, and after a pause of Redis thousands of bodies may come here. */
const countedMs = 5_000;
type Counts = Map<string, number>;
const countsOf = new WeakMap<Queue, () => Promise<Counts>>();

/**
 * Returns a priority: one more than the bodies that the workspace has waiting there, as of five seconds ago and with
 * those that this worker has added. So its second body comes after the first body of every other workspace.
 */
async function placeAmongOwn(isolation: Queue, workspaceId: string): Promise<number> {
  const counted = countsOf.get(isolation) ?? cachedFor(countedMs, () => countWaiting(isolation));
  countsOf.set(isolation, counted);
  const counts = await counted();
  const place = (counts.get(workspaceId) ?? 0) + 1;
  counts.set(workspaceId, place);
  return place;
}

async function countWaiting(isolation: Queue): Promise<Counts> {
  const waiting: Job<IngestBodyPayload>[] = await isolation.getJobs(['prioritized', 'delayed'], 0, placesMax - 1);
  const counts: Counts = new Map();
  for (const { data } of waiting) counts.set(data.workspaceId, (counts.get(data.workspaceId) ?? 0) + 1);
  return counts;
}

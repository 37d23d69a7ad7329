import { Queue, Worker } from 'bullmq';
import { bodyKey } from '../src/queue/body-key.ts';
import { backoffMs, type JobName, jobCatalog } from '../src/queue/job-catalog.ts';
import { connectWorkerRedis, type Redis } from '../src/stores/redis/client.ts';
import type { Logger } from '../src/telemetry/logger.ts';
import { type ProcessorDeps, processors } from './processors.ts';
import { runJob } from './run-job.ts';
import { ingestConcurrency } from './worker-container.ts';

/** A dead worker's jobs start again after at most a lock and an interval. Crashes are counted by us, so BullMQ never gives up. */
const stallSettings = { lockDuration: 6_000, stalledInterval: 2_500, maxStalledCount: 1_000_000 };

const concurrency = {
  ingestBody: ingestConcurrency,
  isolateBody: 1,
  sweepBodies: 1,
  applyIdentityEvent: 2,
  pruneIdentityEvents: 1,
  mergeParts: 1,
  reconcileSummaries: 1,
  settleUsage: 1,
} as const satisfies Record<JobName, number>;

/** Jobs that come again and again, by the name of their scheduler. */
const schedules = [
  { id: 'sweep-bodies', name: 'sweepBodies', everyMs: 60_000 },
  { id: 'merge-parts', name: 'mergeParts', everyMs: 15_000 },
  { id: 'reconcile-summaries', name: 'reconcileSummaries', everyMs: 60_000 },
  { id: 'settle-usage', name: 'settleUsage', everyMs: 60_000 },
  { id: 'prune-identity-events', name: 'pruneIdentityEvents', everyMs: 60 * 60_000 },
] as const satisfies { id: string; name: JobName; everyMs: number }[];

/** Jobs with a body that waits beside them. */
const bodyJobs: ReadonlySet<JobName> = new Set(['ingestBody', 'isolateBody'] as const);

export interface RunningWorkers {
  /** Takes no new jobs and resolves once those under way are done; never while Redis is away. */
  close(): Promise<void>;
}

/** Runs a worker for every job of the catalog. */
export async function startWorkers(
  deps: ProcessorDeps & { logger: Logger },
  redisUrl: string,
): Promise<RunningWorkers> {
  const names = Object.keys(jobCatalog) as JobName[];
  const workers = names.map((name) => startWorker(name, deps, redisUrl));
  await Promise.all(
    schedules.map(({ id, name, everyMs }) => {
      const { queue, attempts, removeOnComplete } = jobCatalog[name];
      const opts = { attempts, removeOnComplete, removeOnFail: { count: 10 } };
      return connectQueue(queue, deps.redis).upsertJobScheduler(id, { every: everyMs }, { name, data: {}, opts });
    }),
  );
  return {
    close: async () => void (await Promise.all(workers.map(({ worker }) => worker.close()))),
  };
}

/** A queue over a connection whose own listener logs its errors; without one here BullMQ would print each of them again. */
export function connectQueue(name: string, connection: Redis): Queue {
  const queue = new Queue(name, { connection });
  queue.on('error', () => undefined);
  return queue;
}

function startWorker(name: JobName, deps: ProcessorDeps & { logger: Logger }, redisUrl: string): { worker: Worker } {
  const { queue, payload: schema } = jobCatalog[name];
  const process = processors[name] as (...args: Parameters<(typeof processors)['ingestBody']>) => Promise<unknown>;
  const connection = connectWorkerRedis(redisUrl);
  connection.on('error', () => undefined); // The worker's own listener below logs it.
  const underWay = new Map<string, Promise<unknown>>();
  const worker = new Worker(
    queue,
    (job) => {
      const facts = { id: String(job.id), attemptsMade: job.attemptsMade, stalledCounter: job.stalledCounter };
      // A job whose lock ran out while Redis was away comes here again, although nothing has crashed: it joins its first run.
      const running =
        underWay.get(facts.id) ??
        runJob(schema, job.data, (payload) => process(deps, facts, payload as never)).finally(() =>
          underWay.delete(facts.id),
        );
      underWay.set(facts.id, running);
      return running;
    },
    {
      connection,
      concurrency: concurrency[name],
      ...stallSettings,
      settings: { backoffStrategy: backoffMs },
      removeOnFail: { count: 1_000_000 },
    },
  );
  worker.on('error', (error) => deps.logger.warn({ err: error, queue }, 'worker connection'));
  worker.on('failed', (job, error) => deps.logger.warn({ err: error, queue, job_id: job?.id }, 'job failed'));
  worker.on('completed', (job, result) => {
    if (result !== 'isolated' && bodyJobs.has(name)) void dropBody(deps.redis, String(job.id), job.data);
  });
  return { worker };
}

/** Only now that the job is done for good: a body is never missing while its job may run again. */
async function dropBody(redis: Redis, jobId: string, data: { projectId: string }): Promise<void> {
  await redis.unlink(bodyKey(data.projectId, jobId)).catch(() => undefined); // The sweep finds what stays behind.
}

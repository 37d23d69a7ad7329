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
  settleUsage: 1,
} as const satisfies Record<JobName, number>;

/** Jobs that come by themselves, each at most once at a time among all workers. */
const everyMs = { sweepBodies: 60_000, settleUsage: 60_000 } as const satisfies Partial<Record<JobName, number>>;

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
  await schedule('sweepBodies', 'sweep-bodies', deps.redis);
  await schedule('settleUsage', 'settle-usage', deps.redis);
  return {
    close: async () => void (await Promise.all(workers.map(({ worker }) => worker.close()))),
  };
}

async function schedule(name: keyof typeof everyMs, schedulerId: string, redis: Redis): Promise<void> {
  const { queue, attempts, removeOnComplete } = jobCatalog[name];
  await connectQueue(queue, redis).upsertJobScheduler(
    schedulerId,
    { every: everyMs[name] },
    { name, data: {}, opts: { attempts, removeOnComplete, removeOnFail: { count: 10 } } },
  );
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
    if (result !== 'isolated' && !(name in everyMs)) void dropBody(deps.redis, String(job.id), job.data);
  });
  return { worker };
}

/** Only now that the job is done for good: a body is never missing while its job may run again. */
async function dropBody(redis: Redis, jobId: string, data: { projectId: string }): Promise<void> {
  await redis.unlink(bodyKey(data.projectId, jobId)).catch(() => undefined); // The sweep finds what stays behind.
}

import { type Job, Worker } from 'bullmq';
import { LRUCache } from 'lru-cache';
import { connectQueue } from '../src/queue/connect-queue.ts';
import { dropBody } from '../src/queue/drop-body.ts';
import { backoffMs, type JobName, jobCatalog } from '../src/queue/job-catalog.ts';
import type { JobFacts } from '../src/queue/job-facts.ts';
import { connectWorkerRedis } from '../src/stores/redis/client.ts';
import { queuePrefix } from '../src/stores/redis/names.ts';
import type { Logger } from '../src/telemetry/logger.ts';
import { outOfMemoryRestMs, startSchedules } from './job-schedules.ts';
import { JobSlots } from './job-slots.ts';
import { isOutOfMemory, type MemoryReserve } from './memory-reserve.ts';
import { type ProcessorDeps, processors } from './processors.ts';
import { QuietLog } from './quiet-log.ts';
import { runJob } from './run-job.ts';
import { keepOrderOfStalled, noteSurvivedStalls, survivedStallsOf } from './stalled-jobs.ts';

/**
 * Jobs of a dead worker start again after at most one lock and one interval. The application counts
 * crashes itself, so BullMQ must never fail a stalled job.
 */
const stallSettings = { lockRenewTime: 2_000, stalledInterval: 2_500, maxStalledCount: 1_000_000 };
const lockMs = 6_000;
/**
 * Of bodies. With 6 s, workers that got little processor time took the bodies of each other, and so had still more to do:
 * 1,700 bodies were not stored in four minutes, and are now in 83 s.
 */
const bodyLockMs = 12_000;
/** From this many stalls on, it is looked up how many of them the workers have survived. */
const stallsMin = 2;
/** Results of runs whose job is not completed yet, or whose lock was lost meanwhile. */
const results = { max: 2_000, ttl: 10 * 60_000 };

/** Jobs of the lanes of bodies, which workspaces share in turn. */
const laneJobs: ReadonlySet<JobName> = new Set(['ingestBody', 'ingestLargeBody'] as const);

/** Jobs with a body that is stored beside the job. */
const bodyJobs: ReadonlySet<JobName> = new Set(['ingestBody', 'ingestLargeBody', 'isolateBody'] as const);

export type WorkersDeps = ProcessorDeps & {
  logger: Logger;
  reserve: Pick<MemoryReserve, 'release'>;
  /** Called for every body that begins, and when it ends, with whether it is done. */
  progress: { begin(): void; end(done: boolean): void };
};

export interface RunningWorkers {
  /**
   * Takes no new jobs. Resolves when the jobs in progress are done, and never while Redis is
   * unavailable.
   */
  close(): Promise<void>;
}

/** Starts a worker for every job of the catalog. Waits for nothing, so that whoever calls it can end what it has started. */
export function startWorkers(deps: WorkersDeps, redisUrl: string): RunningWorkers {
  const log = new QuietLog(deps.logger);
  const names = Object.keys(jobCatalog) as JobName[];
  const workers = names.map((name) => startWorker(name, deps, { redisUrl, log }));
  const schedules = startSchedules(deps, log);
  return {
    async close() {
      schedules.stop();
      await Promise.all(workers.map(({ worker }) => worker.close()));
    },
  };
}

interface UnderWay {
  running: Promise<unknown>;
  /** The token of the lock under which the job was last received. */
  token: string;
  /** When this lock was taken or renewed. */
  lockedAtMs: number;
  /** Whether it is noted that this lock was lost. */
  isLost: boolean;
}

function startWorker(
  name: JobName,
  deps: WorkersDeps,
  { redisUrl, log }: { redisUrl: string; log: QuietLog },
): { worker: Worker } {
  const { queue, payload: schema, concurrency } = jobCatalog[name];
  const process = processors[name] as (...args: Parameters<(typeof processors)['ingestBody']>) => Promise<unknown>;
  const connection = connectWorkerRedis(redisUrl);
  connection.on('error', () => undefined); // The worker's own listener below logs it.
  const underWay = new Map<string, UnderWay>();
  // Without them, a worker that loses its locks again and again would never complete a job.
  const done = new LRUCache<string, { result: unknown }>(results);
  const lockDuration = bodyJobs.has(name) ? bodyLockMs : lockMs;
  const slots = laneJobs.has(name) ? new JobSlots(concurrency) : undefined;
  const run = (facts: JobFacts, data: unknown) => {
    const running = runJob(schema, data, (payload) => process(deps, facts, payload as never));
    return bodyJobs.has(name) ? followed(deps, running) : running;
  };
  const noteLost = (ids: readonly string[]) => {
    const lost = ids.filter((id) => underWay.get(id)?.isLost === false);
    for (const job of lost.map((id) => underWay.get(id))) if (job !== undefined) job.isLost = true;
    // Without the note, the bodies only run alone sooner.
    if (laneJobs.has(name)) noteSurvivedStalls(deps.redis, lost).catch(() => undefined);
  };
  const worker: Worker = new Worker(
    queue,
    (job, token = '') => {
      const id = String(job.id);
      const isOurs = async () => (await deps.redis.get(`${worker.toKey(id)}:lock`)) === underWay.get(id)?.token;
      // When a job's lock expired while Redis was unavailable, the job arrives again although no
      // worker crashed. It joins its first run, or gets its result.
      const known = done.get(keyOf(job));
      if (known !== undefined) return Promise.resolve(known.result);
      const begin = async () => {
        const survived = job.stalledCounter < stallsMin ? 0 : await survivedStallsOf(deps.redis, id);
        const { attemptsMade } = job;
        // `attemptsStarted` also counts the turns in which the job had to wait.
        const isRepeated = attemptsMade > 0 || job.stalledCounter > 0;
        const facts = { id, attemptsMade, isRepeated, stalledCounter: job.stalledCounter - survived, isOurs };
        const result = await run(facts, job.data);
        if (bodyJobs.has(name)) done.set(keyOf(job), { result });
        return result;
      };
      const started = () => (slots === undefined ? begin() : slots.run(job, token, begin));
      const ended = () => {
        const { lockedAtMs = 0 } = underWay.get(id) ?? {};
        if (Date.now() - lockedAtMs > lockDuration) noteLost([id]);
        underWay.delete(id);
      };
      const running = underWay.get(id)?.running ?? started().finally(ended);
      underWay.set(id, { running, token, lockedAtMs: Date.now(), isLost: false });
      return running;
    },
    {
      connection,
      prefix: queuePrefix(queue),
      concurrency: slots?.jobsMax ?? concurrency,
      lockDuration,
      ...stallSettings,
      settings: { backoffStrategy: backoffMs },
      removeOnFail: { count: 1_000_000 },
    },
  );
  worker.on('lockRenewalFailed', (ids) => noteLost(ids));
  worker.on('locksRenewed', ({ jobIds }) => {
    for (const job of jobIds.map((id) => underWay.get(id))) if (job !== undefined) job.lockedAtMs = Date.now();
  });
  keepOrderOfStalled(worker, connectQueue(queue, deps.redis));
  const onTrouble = (error: Error) => {
    if (isOutOfMemory(error)) void rest(worker, deps.reserve);
  };
  worker.on('error', (error) => {
    log.warn(`${queue} ${kindOf(error)}`, { err: error, queue }, 'worker connection');
    onTrouble(error);
  });
  worker.on('failed', (job, error) => {
    log.warn(`${queue} failed ${kindOf(error)}`, { err: error, queue, job_id: job?.id }, 'job failed');
    onTrouble(error);
  });
  worker.on('completed', (job, result) => {
    done.delete(keyOf(job));
    // The sweep finds bodies that cannot be dropped now.
    if (result === 'isolated' || !bodyJobs.has(name)) return;
    const body = { projectId: job.data.projectId, jobId: String(job.id) };
    dropBody(deps.redis, deps, body, { outcome: result }).catch(() => undefined);
  });
  return { worker };
}

/** The id of a job comes again with a new time when its body is sent again later. */
const keyOf = ({ id, timestamp }: Job) => `${id} ${timestamp}`;

async function followed({ progress }: Pick<WorkersDeps, 'progress'>, running: Promise<unknown>): Promise<unknown> {
  progress.begin();
  let done = false;
  try {
    const result = await running;
    done = true;
    return result;
  } finally {
    progress.end(done);
  }
}

/**
 * Pauses the worker for a moment and releases the memory reserve. BullMQ still renews the locks of
 * jobs in progress.
 */
async function rest(worker: Worker, reserve: WorkersDeps['reserve']): Promise<void> {
  if (worker.isPaused() || worker.closing !== undefined) return;
  setTimeout(() => {
    if (worker.closing === undefined) void worker.resume();
  }, outOfMemoryRestMs);
  await Promise.all([worker.pause(true), reserve.release()]);
}

/** Returns the start of the message, because messages of one kind differ in numbers and ids. */
function kindOf(error: Error): string {
  return error.message.slice(0, 40);
}

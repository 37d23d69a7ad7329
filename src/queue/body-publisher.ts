import { Job, type Queue } from 'bullmq';
import { cachedFor } from '../lib/cached-for.ts';
import { UnavailableError } from '../lib/errors.ts';
import { TimeoutError } from '../lib/within.ts';
import type { Redis } from '../stores/redis/client.ts';
import { backlogKey, bodyKey, laneBaseKey, summaryTracesKey } from '../stores/redis/names.ts';
import { backlogShareOf, listedTraceBytes, type WorkspaceBacklog } from './backlog.ts';
import { type AwaitedBody, readOutcomes } from './body-outcomes.ts';
import { connectRequestQueue } from './connect-queue.ts';
import { dropBody, forgetJob } from './drop-body.ts';
import { barrierMsMax, DurabilityBarrier, isWrittenWithAnswer } from './durability-barrier.ts';
import { giveBackUnits } from './give-back-units.ts';
import { type IngestLane, ingestLanes } from './ingest-lanes.ts';
import { type IngestBodyPayload, type IngestOutcome, jobCatalog, retryOptions } from './job-catalog.ts';
import { beginTransaction, execTransaction } from './job-transaction.ts';
import { LaneSchedule } from './lane-schedule.ts';
import { RedisClock } from './redis-clock.ts';
import { addStoreBody, type BodyMeter, readStoredBody, type StoredBody } from './store-body-script.ts';
import { examineUnfinished, readNextTurnS } from './unfinished-receipt.ts';

export type { AwaitedBody } from './body-outcomes.ts';
export type { BodyMeter } from './store-body-script.ts';

export interface BodyPublisher {
  /**
   * Stores the body and its job in one MULTI. Counts it on `meters`, unless the job was
   * already known (`duplicate`). Resolves after Redis has passed everything to
   * the kernel.
   * @returns `backlog`: what the workspace has waiting, including this body; the cost is that
   * in the lane of the body
   * @throws UnavailableError when the body cannot be made durable: within 1 s, or 2.5 s if the disk
   * of Redis is slow
   */
  publish(
    jobId: string,
    body: Buffer,
    payload: IngestBodyPayload,
    meters?: readonly BodyMeter[],
  ): Promise<{ duplicate: boolean; backlog: WorkspaceBacklog }>;
  /**
   * Returns what a workspace has waiting. The cost is that of the lane where it is larger.
   * @throws the error of Redis
   */
  backlogOf(workspaceId: string): Promise<WorkspaceBacklog>;
  /**
   * Returns when the oldest unfinished body of a workspace was received, in milliseconds since the epoch; undefined when
   * it has none. It may be as of a second ago, and rounded down to the minute.
   * @throws the error of Redis, and RangeError when it is not known, because too many bodies wait to be examined
   */
  oldestUnfinishedAtMs(workspaceId: string): Promise<number | undefined>;
  /**
   * Returns whether a body with this id is unfinished, or was stored in the last minutes.
   * @throws UnavailableError when Redis is unavailable
   */
  isKnown(jobId: string): Promise<boolean>;
  /**
   * Removes a finished job, so that its id can be published again; not one that waits or runs, or whose body waits in
   * isolation.
   */
  forget(body: { projectId: string; jobId: string }): Promise<void>;
  /**
   * Reads the outcome of each body. It is undefined while the job waits or runs, while the trace is
   * stored but not summarized yet, and when the job is unknown.
   * @throws the error of Redis
   */
  outcomes(bodies: readonly AwaitedBody[]): Promise<(IngestOutcome | undefined)[]>;
  /** The lane of small bodies. */
  queue: Queue;
  /** All lanes. */
  queues: readonly Queue[];
  /** The queue of the bodies that are tried alone. Workers fill it. */
  isolation: Queue;
  close(): Promise<void>;
}

export interface BodyPublisherParts {
  clock: Pick<RedisClock, 'nowMs'>;
  barrier: Pick<DurabilityBarrier, 'pass'>;
}

/**
 * Creates a publisher. `redis` must fail fast (see connectRequestRedis), because a request waits
 * for every command.
 */
export function createBodyPublisher(
  redis: Redis,
  { clock, barrier }: BodyPublisherParts = { clock: new RedisClock(), barrier: new DurabilityBarrier(redis) },
): BodyPublisher {
  const lanes = ofLanes((lane) => connectRequestQueue(lane, redis));
  const queues = ingestLanes.map((lane) => lanes[lane]);
  const isolation = connectRequestQueue(jobCatalog.isolateBody.queue, redis);
  const jobKeysOf = (jobId: string) => queues.map((queue) => queue.toKey(jobId));
  const schedule = new LaneSchedule();
  const nextDue = ofLanes((lane) => cachedFor(nextDueMs, () => readNextTurnS(redis, lanes[lane])));
  let baseS: number | undefined;
  const unfinished = cachedFor(unfinishedMs, async () => {
    const atMs = clock.nowMs();
    // Isolation last: a body is there before its job in a lane ends.
    return { atMs, bodies: await examineUnfinished(redis, [...queues, isolation]) };
  });

  async function knowBacklog(workspaceId: string, lane: IngestLane, nowMs: number): Promise<void> {
    if (schedule.knows(workspaceId, lane, nowMs)) return;
    const cost = Number((await redis.hget(backlogKey(workspaceId), lane)) ?? 0);
    // Another body may have been published meanwhile, which counts.
    if (!schedule.knows(workspaceId, lane, nowMs)) schedule.learn(workspaceId, lane, { cost, atMs: nowMs });
  }

  async function store(
    jobId: string,
    body: Buffer,
    payload: IngestBodyPayload,
    meters: readonly BodyMeter[],
  ): Promise<StoredBody> {
    baseS ??= await readBase(redis);
    const usedBaseS = baseS;
    const nowMs = clock.nowMs();
    const { workspaceId } = payload;
    const share = backlogShareOf(payload, body);
    const queue = lanes[share.lane];
    const transaction = await beginTransaction(queue);
    const keys = {
      job: queue.toKey(jobId),
      body: bodyKey(payload.projectId, jobId),
      backlog: backlogKey(workspaceId),
    };
    addStoreBody(transaction, { keys, body, meters, share, receivedAtMs: payload.receivedAtMs, workspaceId });
    const [nextDueS] = await Promise.all([nextDue[share.lane](), knowBacklog(workspaceId, share.lane, nowMs)]);
    const { priority, delayS } = schedule.turnOf(workspaceId, share, { nowMs, baseS, nextDueS });
    const data = { ...payload, delayS };
    const job = new Job(queue, 'ingestBody', data, { ...jobOptions, jobId, priority, timestamp: nowMs }, jobId);
    await job.addJob(transaction, {});
    transaction.runCommand('info', ['persistence']);
    const { first, last } = await execTransaction(queue, transaction);
    const stored = readStoredBody(first);
    schedule.learn(workspaceId, share.lane, { cost: stored.backlog.cost, atMs: nowMs });
    baseS = stored.baseS;
    // A priority from the old base would delay the job by a day behind those that wait.
    if (baseS !== usedBaseS && !stored.duplicate) {
      await job.changePriority({ priority: Math.max(1, priority + usedBaseS - baseS) });
    }
    if (!isWrittenWithAnswer(String(last))) await barrier.pass(barrierMsMax);
    return stored;
  }

  return {
    queue: lanes.ingest,
    queues,
    isolation,
    async publish(jobId, body, payload, meters = []) {
      try {
        const { duplicate, backlog } = await store(jobId, body, payload, meters);
        return { duplicate, backlog };
      } catch (error) {
        // Nobody waits for it: Redis may be away.
        giveBackUnits(redis, jobKeysOf(jobId), meters).catch(() => undefined);
        throw notQueued(error);
      }
    },
    async backlogOf(workspaceId) {
      const [[bytes, ...costs], listed] = await Promise.all([
        redis.hmget(backlogKey(workspaceId), 'bytes', ...ingestLanes),
        redis.hget(summaryTracesKey, workspaceId),
      ]);
      const listedBytes = listedTraceBytes * Number(listed ?? 0);
      return { bytes: Number(bytes ?? 0) + listedBytes, cost: Math.max(...costs.map((cost) => Number(cost ?? 0))) };
    },
    async oldestUnfinishedAtMs(workspaceId) {
      if (!(await redis.exists(backlogKey(workspaceId)))) return undefined;
      const { atMs, bodies } = await unfinished();
      if (bodies === undefined) throw new RangeError('Too many bodies wait');
      // All that came before the jobs were read are done.
      const oldestAtMs = (await bodies.oldestOf([workspaceId])).get(workspaceId) ?? atMs;
      if (oldestAtMs === -Infinity) throw new RangeError('Too many bodies wait');
      return oldestAtMs;
    },
    async isKnown(jobId) {
      const known = await Promise.all(jobKeysOf(jobId).map((key) => redis.exists(key))).catch((error: unknown) => {
        throw notQueued(error);
      });
      return known.some((count) => count > 0);
    },
    async forget({ projectId, jobId }) {
      // A worker that died before it did so left the body in the backlog of its workspace.
      await dropBody(redis, { ingest: queues, isolation }, { projectId, jobId });
      await forgetJob(redis, { ingest: queues, isolation }, jobId);
    },
    outcomes: (bodies) => readOutcomes(redis, jobKeysOf, bodies),
    close: async () => void (await Promise.all([...queues, isolation].map((queue) => queue.close()))),
  };
}

function ofLanes<T>(of: (lane: IngestLane) => T): Record<IngestLane, T> {
  return Object.fromEntries(ingestLanes.map((lane) => [lane, of(lane)])) as Record<IngestLane, T>;
}

/** The turn of the next body of a lane is read at most once in this time. */
const nextDueMs = 1_000;
/** The jobs of all workspaces are read at most once in this time. */
const unfinishedMs = 1_000;

const { attempts, removeOnComplete } = jobCatalog.ingestBody;
const jobOptions = { attempts, ...retryOptions, removeOnComplete, removeOnFail: false };

/** Returns the base time of the lanes. The first process that asks sets it. */
async function readBase(redis: Redis): Promise<number> {
  const [seconds = 0] = await redis.time();
  await redis.set(laneBaseKey, seconds, 'NX');
  return Number(await redis.get(laneBaseKey));
}

function notQueued(cause: unknown): UnavailableError {
  const why = cause instanceof TimeoutError ? ` (${cause.message})` : '';
  return new UnavailableError('queue_unavailable', `The body could not be queued${why}. Send them again.`, {
    retryAfterS: 1,
    cause,
  });
}

import type { Queue } from 'bullmq';
import { mapInSlices } from '../lib/pace.ts';
import type { Redis } from '../stores/redis/client.ts';
import { backlogKey, laneBaseKey } from '../stores/redis/names.ts';
import { oldestReceiptMs } from './backlog.ts';
import { isLane } from './ingest-lanes.ts';
import { type IngestBodyPayload, ingestBodyPayload } from './job-catalog.ts';

/** If a queue has more unfinished bodies than this, those that wait for their first turn are not examined. */
const jobsMax = 5_000;
/**
 * If the turn of the next body of a queue was so long ago, some of those behind it may have waited for longer than a
 * backlog is kept (`backlogKeptS`), which is an hour longer than the latest turn of a body.
 */
const lateMsMax = 30 * 60_000;

/** The unfinished bodies of all workspaces, as of a moment. */
export interface UnfinishedBodies {
  /**
   * Returns when the oldest unfinished body of each of the workspaces was received, in milliseconds since the epoch.
   * A workspace that has none is absent. If not all bodies were examined, the backlogs tell it, as of this call and
   * rounded down to the minute; -Infinity when it is not known.
   */
  oldestOf(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

/**
 * Examines the unfinished bodies; undefined when there are too many. The lists are read in one transaction, so a job
 * that changes its state is not missed.
 * @param options.examinedMax bodies of a queue that are examined, for tests
 */
export async function examineUnfinished(
  redis: Redis,
  queues: readonly Queue[],
  { examinedMax = jobsMax }: { examinedMax?: number } = {},
): Promise<UnfinishedBodies | undefined> {
  const receipts = new Map<string, number>();
  let isComplete = true;
  for (const queue of queues) {
    const { begun, waiting } = await unfinishedIds(redis, queue, examinedMax);
    const areFew = begun.length + waiting.length <= examinedMax;
    if (!areFew && (begun.length > examinedMax || (await isLate(redis, queue)))) return undefined;
    isComplete &&= areFew;
    for (const payload of await payloadsOf(redis, queue, areFew ? [...begun, ...waiting] : begun)) {
      if (payload === undefined) continue;
      const { workspaceId, receivedAtMs } = payload;
      receipts.set(workspaceId, Math.min(receipts.get(workspaceId) ?? receivedAtMs, receivedAtMs));
    }
  }
  return {
    async oldestOf(workspaceIds) {
      const backlogs = isComplete ? new Map<string, number>() : await readBacklogs(redis, ['', ...workspaceIds]);
      // A job of an older version does not name its workspace, so it counts for each.
      const oldest = (id: string) =>
        Math.min(...[receipts, backlogs].flatMap((known) => [known.get(id) ?? Infinity, known.get('') ?? Infinity]));
      return new Map(workspaceIds.map((id) => [id, oldest(id)] as const).filter(([, atMs]) => atMs !== Infinity));
    },
  };
}

/** Returns when the oldest body in the backlog of each workspace was received, see {@link oldestReceiptMs}. */
async function readBacklogs(redis: Redis, workspaceIds: readonly string[]): Promise<Map<string, number>> {
  const pipeline = redis.pipeline();
  for (const id of workspaceIds) pipeline.hgetall(backlogKey(id));
  const results = (await pipeline.exec()) ?? [];
  const oldest = await mapInSlices(results, ([error, fields]) => {
    if (error !== null) throw error;
    return oldestReceiptMs(fields as Record<string, string>);
  });
  return new Map(workspaceIds.map((id, index) => [id, oldest[index] ?? -Infinity]));
}

/** BullMQ sorts by the priority times this, plus a counter. */
export const scorePerPriority = 2 ** 32;

/**
 * Returns the turn of the next body of a lane, in seconds since the epoch; undefined when none waits. See LaneSchedule.
 * @throws the error of Redis
 */
export async function readNextTurnS(redis: Redis, lane: Queue): Promise<number | undefined> {
  // Together, because the base and all scores change together.
  const transaction = redis.multi().get(laneBaseKey).zrange(lane.toKey('prioritized'), '0', '0', 'WITHSCORES');
  const [base, next] = ((await transaction.exec()) ?? []).map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
  const score = (next as string[])[1];
  return score === undefined ? undefined : Number(base ?? 0) + Math.floor(Number(score) / scorePerPriority);
}

/** Returns whether the turn of the next body was {@link lateMsMax} ago, or its receipt in a queue without turns. */
async function isLate(redis: Redis, queue: Queue): Promise<boolean> {
  const turnS = isLane(queue.name) ? await readNextTurnS(redis, queue) : undefined;
  const atMs = turnS === undefined ? (await queue.getPrioritized(0, 0))[0]?.timestamp : turnS * 1_000;
  return atMs !== undefined && atMs < Date.now() - lateMsMax;
}

/**
 * Returns the ids of unfinished bodies, at most one more than `max` of each list. `waiting` are those that wait for
 * their turn in a lane.
 */
async function unfinishedIds(redis: Redis, queue: Queue, max: number): Promise<{ begun: string[]; waiting: string[] }> {
  const lists = ['wait', 'paused', 'active'].map((state) => queue.toKey(state));
  const sets = ['prioritized', 'delayed'].map((state) => queue.toKey(state));
  const transaction = redis.multi();
  for (const key of sets) transaction.zrange(key, 0, String(max));
  for (const key of lists) transaction.lrange(key, 0, max);
  const results = (await transaction.exec()) ?? [];
  const [waiting = [], ...begun] = results.map(([error, value]) => {
    if (error !== null) throw error;
    return value as string[];
  });
  return { begun: begun.flat(), waiting };
}

async function payloadsOf(
  redis: Redis,
  queue: Queue,
  ids: readonly string[],
): Promise<(IngestBodyPayload | undefined)[]> {
  if (ids.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hget(queue.toKey(id), 'data');
  const results = (await pipeline.exec()) ?? [];
  return mapInSlices(results, ([error, data]) => {
    if (error !== null) throw error;
    // A job without data has ended meanwhile. A job that cannot be parsed is skipped.
    if (data === null) return undefined;
    return ingestBodyPayload.safeParse(JSON.parse(String(data))).data;
  });
}

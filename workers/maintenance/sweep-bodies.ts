import type { Queue } from 'bullmq';
import { bodyKeyPattern, parseBodyKey } from '../../src/queue/body-key.ts';
import type { Redis } from '../../src/stores/redis/client.ts';

export interface SweepBodiesDeps {
  redis: Redis;
  ingest: Queue;
  isolation: Queue;
}

const keysPerScan = 1_000;

/** Removes bodies whose job is done: left behind when a worker died between finishing a job and dropping its body. */
export async function sweepBodies(deps: SweepBodiesDeps): Promise<void> {
  const scan = deps.redis.scanStream({ match: bodyKeyPattern, count: keysPerScan });
  for await (const keys of scan as AsyncIterable<string[]>) {
    for (const key of keys) {
      if (!(await isNeeded(deps, key))) await deps.redis.unlink(key);
    }
  }
}

/** A body and its job are stored together, so a body without any job has been worked on and forgotten. */
async function isNeeded({ redis, ingest, isolation }: SweepBodiesDeps, key: string): Promise<boolean> {
  const parsed = parseBodyKey(key);
  if (parsed === undefined) return true;
  if ((await redis.exists(isolation.toKey(parsed.jobId))) === 1) return true;
  const [finishedOn, failedReason, exists] = await redis
    .pipeline()
    .hget(ingest.toKey(parsed.jobId), 'finishedOn')
    .hget(ingest.toKey(parsed.jobId), 'failedReason')
    .exists(ingest.toKey(parsed.jobId))
    .exec()
    .then((results) => (results ?? []).map(([, value]) => value));
  return exists === 1 && (finishedOn === null || failedReason !== null);
}

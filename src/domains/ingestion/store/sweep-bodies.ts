import { bodyKeyPattern, parseBodyKey } from '../../../queue/body-key.ts';
import { type BodyQueues, dropBody } from '../../../queue/drop-body.ts';
import { rebaseLanes } from '../../../queue/rebase-lanes.ts';
import type { Redis } from '../../../stores/redis/client.ts';

export type SweepBodiesDeps = BodyQueues & { redis: Redis };

const keysPerScan = 1_000;

/**
 * Removes bodies whose job is done. A worker leaves one behind when it dies between finishing the
 * job and dropping the body.
 */
export async function sweepBodies(deps: SweepBodiesDeps): Promise<void> {
  const scan = deps.redis.scanStream({ match: bodyKeyPattern, count: keysPerScan });
  for await (const keys of scan as AsyncIterable<string[]>) {
    for (const body of keys.flatMap((key) => parseBodyKey(key) ?? [])) await dropBody(deps.redis, deps, body);
  }
  await rebaseLanes(deps.redis, deps.ingest);
}

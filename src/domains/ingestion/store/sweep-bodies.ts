import { type BodyQueues, dropBody } from '../../../queue/drop-body.ts';
import { rebaseLanes } from '../../../queue/rebase-lanes.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import { bodyKeyPattern, parseBodyKey } from '../../../stores/redis/names.ts';
import { scanKeys } from '../../../stores/redis/scan.ts';

export type SweepBodiesDeps = BodyQueues & { redis: Redis };

/**
 * Removes bodies whose job is done. A worker leaves one behind when it dies between finishing the
 * job and dropping the body.
 */
export async function sweepBodies(deps: SweepBodiesDeps): Promise<void> {
  for await (const keys of scanKeys(deps.redis, { match: bodyKeyPattern })) {
    for (const body of keys.flatMap((key) => parseBodyKey(key) ?? [])) await dropBody(deps.redis, deps, body);
  }
  await rebaseLanes(deps.redis, deps.ingest);
}

import { FairLane, type FairLaneOptions } from '../../../lib/fair-lane.ts';
import { costOf, type IngestLane, laneOf } from '../../../queue/ingest-lanes.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';

const mebibyte = 1024 * 1024;

/** Nothing is refused here: how many jobs are under way is bounded by the workers' concurrency. */
const unbounded = { waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY };

/**
 * Inflated bytes that one worker has in memory, by lane. All workspaces share both; of small bodies one may hold three quarters,
 * which fills the batches that a worker writes alone. Of large ones it may hold all, for a body of 64 MiB must run by itself; those
 * of several workspaces then take turns.
 */
const lanes = {
  ingest: { name: 'bodies', capacity: 48 * mebibyte, perKey: 36 * mebibyte, ...unbounded },
  'ingest-large': { name: 'large bodies', capacity: 26 * mebibyte, perKey: 26 * mebibyte, ...unbounded },
} as const satisfies Record<IngestLane, FairLaneOptions>;

/** Holds the memory for a body while it is worked on. Throws what `work` throws. */
export type HoldBody = <T>(payload: IngestBodyPayload, work: () => Promise<T>) => Promise<T>;

export function createWorkLanes(): HoldBody {
  const ingest = new FairLane(lanes.ingest);
  const large = new FairLane(lanes['ingest-large']);
  const laneFor = { ingest, 'ingest-large': large } satisfies Record<IngestLane, FairLane>;
  return (payload, work) => laneFor[laneOf(payload)].run(payload.workspaceId, work, { cost: costOf(payload) });
}

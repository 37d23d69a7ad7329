import { FairLane } from '../../../lib/fair-lane.ts';
import type { FairLaneOptions } from '../../../lib/fair-lane-options.ts';
import { costOf, type IngestLane, laneOf } from '../../../queue/ingest-lanes.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';

const mebibyte = 1024 * 1024;

/** The lanes refuse nothing: the concurrency of the workers bounds the jobs under way. */
const unbounded = { waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY };

/**
 * Bytes that one worker holds in memory, by lane: of bodies after inflating, or of rows that repeat
 * more. All workspaces share both lanes. One
 * workspace may hold three quarters of the memory for small bodies, enough to fill a worker's
 * batches. It may hold all memory for large bodies, because a body that takes more must run alone;
 * several workspaces take turns.
 */
const lanes = {
  ingest: { name: 'bodies', capacity: 48 * mebibyte, perKey: 36 * mebibyte, ...unbounded },
  'ingest-large': { name: 'large bodies', capacity: 26 * mebibyte, perKey: 26 * mebibyte, ...unbounded },
} as const satisfies Record<IngestLane, FairLaneOptions>;

/**
 * Holds the memory for a body while `work` runs.
 * @throws what `work` throws
 */
export type HoldBody = <T>(payload: IngestBodyPayload, work: () => Promise<T>) => Promise<T>;

/** Creates the two lanes. The returned function holds memory in the lane of a body. */
export function createWorkLanes(): HoldBody {
  const ingest = new FairLane(lanes.ingest);
  const large = new FairLane(lanes['ingest-large']);
  const laneFor = { ingest, 'ingest-large': large } satisfies Record<IngestLane, FairLane>;
  return (payload, work) => laneFor[laneOf(payload)].run(payload.workspaceId, work, { cost: costOf(payload) });
}

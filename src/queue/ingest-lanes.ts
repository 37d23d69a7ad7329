import type { IngestBodyPayload } from './job-catalog.ts';

/**
 * Bodies that inflate to more than this use a separate lane, so that a small body never waits for a
 * large one.
 */
export const largeBodyBytes = 512 * 1024;

/**
 * The queues of bodies. All workspaces share them. Each is served by deadline, see
 * {@link LaneSchedule}.
 */
export const ingestLanes = ['ingest', 'ingest-large'] as const;

export type IngestLane = (typeof ingestLanes)[number];

/**
 * Returns the lane of a body. It depends on the payload alone, so that a resend goes to the same
 * lane.
 */
export function laneOf({ inflatedBytes }: Pick<IngestBodyPayload, 'inflatedBytes'>): IngestLane {
  return inflatedBytes > largeBodyBytes ? 'ingest-large' : 'ingest';
}

/** The fixed cost of a body besides its bytes: half a millisecond of a worker. */
export const costBytesMin = 16 * 1024;

/** Returns the cost of processing a body, in inflated bytes. */
export function costOf({ inflatedBytes }: Pick<IngestBodyPayload, 'inflatedBytes'>): number {
  return Math.max(inflatedBytes, costBytesMin);
}

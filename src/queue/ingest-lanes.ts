import type { IngestBodyPayload } from './job-catalog.ts';

/** Bodies that inflate to more are worked on in a lane of their own: a small one never waits for the place of a large one. */
export const largeBodyBytes = 512 * 1024;

/** The queues of bodies, shared by all workspaces. What waits in one is served by deadline, see {@link LaneSchedule}. */
export const ingestLanes = ['ingest', 'ingest-large'] as const;

export type IngestLane = (typeof ingestLanes)[number];

/** Of the payload alone, so that a resend goes to the lane that knows it. */
export function laneOf({ inflatedBytes }: Pick<IngestBodyPayload, 'inflatedBytes'>): IngestLane {
  return inflatedBytes > largeBodyBytes ? 'ingest-large' : 'ingest';
}

/** Half a millisecond of a worker, which is what a body costs beside its bytes. */
export const costBytesMin = 16 * 1024;

/** What working on a body costs, in inflated bytes. */
export function costOf({ inflatedBytes }: Pick<IngestBodyPayload, 'inflatedBytes'>): number {
  return Math.max(inflatedBytes, costBytesMin);
}

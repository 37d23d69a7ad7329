import type { IngestBodyPayload } from './job-catalog.ts';

/**
 * Bodies that inflate to more than this use a separate lane, so that a small body never waits for a
 * large one.
 */
export const largeBodyBytes = 512 * 1024;
/**
 * So are bodies whose rows repeat more bytes of resources and scopes than this. Real batches of small
 * bodies repeat less, and larger rows are written alone (`togetherBytesMax`).
 */
export const largeRepeatedBytes = 4 * 1024 * 1024;

/** What a body costs depends on these facts alone. */
export type BodySize = Pick<IngestBodyPayload, 'inflatedBytes' | 'repeatedBytes'>;

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
export function laneOf({ inflatedBytes, repeatedBytes = 0 }: BodySize): IngestLane {
  return inflatedBytes > largeBodyBytes || repeatedBytes > largeRepeatedBytes ? 'ingest-large' : 'ingest';
}

/** The fixed cost of a body besides its bytes: half a millisecond of a worker. */
export const costBytesMin = 16 * 1024;

/**
 * Returns the cost of processing a body: its inflated bytes, or those of its rows if these repeat
 * more.
 */
export function costOf({ inflatedBytes, repeatedBytes = 0 }: BodySize): number {
  return Math.max(inflatedBytes, repeatedBytes, costBytesMin);
}

/** {@link costOf} of a decoded payload `data` in a script of Redis. */
export const costLua = `math.max(tonumber(data.inflatedBytes) or 0, tonumber(data.repeatedBytes) or 0, ${costBytesMin})`;

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
export type BodySize = Pick<IngestBodyPayload, 'inflatedBytes' | 'spans' | 'repeatedBytes'>;

/**
 * The queues of bodies. All workspaces share them. Each is served by deadline, see
 * {@link LaneSchedule}.
 */
export const ingestLanes = ['ingest', 'ingest-large'] as const;

export type IngestLane = (typeof ingestLanes)[number];

/** Returns whether a queue is a lane. The priorities of other queues are no times. */
export function isLane(queue: string): queue is IngestLane {
  return (ingestLanes as readonly string[]).includes(queue);
}

/**
 * Returns the lane of a body. It depends on the payload alone, so that a resend goes to the same
 * lane.
 */
export function laneOf({ inflatedBytes, repeatedBytes = 0 }: Omit<BodySize, 'spans'>): IngestLane {
  return inflatedBytes > largeBodyBytes || repeatedBytes > largeRepeatedBytes ? 'ingest-large' : 'ingest';
}

/** The fixed cost of a body besides its bytes: half a millisecond of a worker. */
export const costBytesMin = 16 * 1024;
/** The cost of a span or log record, however small it is: a row takes as much in memory and time. */
export const costBytesPerItem = 1024;

/**
 * Returns the cost of processing a body in bytes: its inflated bytes, or more if it has very many
 * items, or if its rows repeat more.
 */
export function costOf({ inflatedBytes, spans, repeatedBytes = 0 }: BodySize): number {
  return Math.max(inflatedBytes, spans * costBytesPerItem, repeatedBytes, costBytesMin);
}

/**
 * Returns the size of a body for its payload. It has `repeatedBytes` only if that changes what {@link laneOf} or
 * {@link costOf} returns.
 */
export function sizeOf({ repeatedBytes = 0, ...size }: BodySize): BodySize {
  return repeatedBytes > Math.min(largeRepeatedBytes, costOf(size)) ? { ...size, repeatedBytes } : size;
}

/** {@link costOf} of a decoded payload `data` in a script of Redis. */
export const costLua = `math.max(tonumber(data.inflatedBytes) or 0, (tonumber(data.spans) or 0) * ${costBytesPerItem},
      tonumber(data.repeatedBytes) or 0, ${costBytesMin})`;

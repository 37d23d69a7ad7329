import { type BodySize, costOf, type IngestLane, laneOf } from './ingest-lanes.ts';

/**
 * Bytes that a job takes in Redis besides its body: its hash, its lane entry and its id. Measured:
 * 1.2 KB.
 */
export const jobBytes = 2 * 1024;

/** Bytes that a trace on the list of summaries takes in Redis. Measured: 130 for the first, more while it is leased. */
export const listedTraceBytes = 200;

/** A backlog also counts the bytes of the bodies that were received in each minute; the field is the minute. */
export const receiptMs = 60_000;

/**
 * Returns when the oldest body of a backlog was received, in milliseconds since the epoch, rounded down to the minute;
 * Infinity when there is no backlog. Returns -Infinity when the minutes do not add up to all bytes, because an older
 * version stored or dropped a body.
 */
export function oldestReceiptMs({ bytes = '0', ...fields }: Record<string, string>): number {
  const minutes = Object.keys(fields).filter((name) => /^\d+$/.test(name));
  const known = minutes.reduce((sum, minute) => sum + Number(fields[minute]), 0);
  if (known !== Number(bytes)) return -Infinity;
  return Math.min(...minutes.map(Number)) * receiptMs;
}

/** The amount that a body adds to the backlog of its workspace until the body is dropped. */
export interface BacklogShare {
  lane: IngestLane;
  /** Bytes in Redis. */
  bytes: number;
  /** Cost in bytes, see `costOf`. */
  cost: number;
}

/** What a workspace has waiting: bodies, and traces to be summarized. */
export interface WorkspaceBacklog {
  /** Bytes of both in Redis. */
  bytes: number;
  /** Cost in one lane, see `costOf`. */
  cost: number;
}

/** Returns the share of a body: its lane, bytes in Redis and cost. */
export function backlogShareOf(payload: BodySize, body: Buffer): BacklogShare {
  return { lane: laneOf(payload), bytes: body.length + jobBytes, cost: costOf(payload) };
}

import { costOf, type IngestLane, laneOf } from './ingest-lanes.ts';
import type { IngestBodyPayload } from './job-catalog.ts';

/** What a job takes in Redis beside its body: its hash, its place in the lane and its id, measured at 1.2 KB. */
export const jobBytes = 2 * 1024;

/**
 * A hash of what a workspace has unfinished: `bytes` in Redis, and the cost of working on it in each lane. Written by the scripts
 * that store and drop bodies, in the same breath. One that is wrong, because a job was lost, is forgotten an hour after the last body.
 */
export function backlogKey(workspaceId: string): string {
  return `${workspaceId}${backlogSuffix}`;
}

export const backlogSuffix = ':ingest-backlog';
export const backlogKeptS = 3_600;

/** What a body adds to the backlog of its workspace until it is dropped. */
export interface BacklogShare {
  lane: IngestLane;
  /** In Redis. */
  bytes: number;
  /** In inflated bytes. */
  cost: number;
}

export function backlogShareOf(payload: Pick<IngestBodyPayload, 'inflatedBytes'>, body: Buffer): BacklogShare {
  return { lane: laneOf(payload), bytes: body.length + jobBytes, cost: costOf(payload) };
}

import { LRUCache } from 'lru-cache';
import type { BacklogShare } from './backlog.ts';

/** What one workspace may expect of the workers however many others send, in inflated bytes a second. */
const fairBytesPerS = 1024 * 1024;
/** The longest that a backlog puts a body behind those of other workspaces. */
const delayMaxS = 300;
/** The largest priority that BullMQ sorts by: 24 days in seconds. */
const priorityMax = 2 ** 21;
/** Workspaces whose backlog a process remembers; a forgotten one counts as empty for one body. */
const workspacesMax = 10_000;

interface KnownBacklog {
  cost: number;
  atMs: number;
}

/**
 * Decides the order of a lane. A body's priority is the time by which its turn would come if its workspace were served at
 * `fairBytesPerS`: the seconds since a base that all processes share, plus the seconds its workspace's backlog takes at that rate,
 * at most 300. The body of a workspace with little waiting so goes before the backlog of another. Nobody starves: after 300 s every
 * new body has a later time than one that waits, so it is behind it whoever sends.
 *
 * Of the backlog a process knows what Redis answered to its last publish, and what it has sent since; it shrinks at the fair rate.
 */
export class LaneSchedule {
  readonly #backlogs = new LRUCache<string, KnownBacklog>({ max: workspacesMax });

  /** The priority of a body that is published now, and counts it as waiting until {@link learn} tells more. */
  priorityOf(workspaceId: string, { lane, cost }: BacklogShare, { nowMs, baseS }: { nowMs: number; baseS: number }) {
    const backlog = this.#backlogOf(workspaceId, lane, nowMs);
    this.#remember(workspaceId, lane, { cost: backlog + cost, atMs: nowMs });
    const delayS = Math.min(delayMaxS, Math.floor(backlog / fairBytesPerS));
    // 0 would be no priority at all, which BullMQ serves before everything else.
    return Math.min(priorityMax, Math.max(1, Math.floor(nowMs / 1_000) - baseS + delayS));
  }

  /** Notes what Redis says is waiting, a body that was published just now included. */
  learn(workspaceId: string, lane: string, known: KnownBacklog): void {
    this.#remember(workspaceId, lane, known);
  }

  #backlogOf(workspaceId: string, lane: string, nowMs: number): number {
    const known = this.#backlogs.get(`${workspaceId} ${lane}`);
    if (known === undefined) return 0;
    return Math.max(0, known.cost - (Math.max(0, nowMs - known.atMs) / 1_000) * fairBytesPerS);
  }

  #remember(workspaceId: string, lane: string, known: KnownBacklog): void {
    this.#backlogs.set(`${workspaceId} ${lane}`, known);
  }
}

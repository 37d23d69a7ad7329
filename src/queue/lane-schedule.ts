import { LRUCache } from 'lru-cache';
import type { BacklogShare } from './backlog.ts';

/**
 * Rate that each workspace can expect from the workers, in bytes of `costOf` per second, even if
 * many others send.
 */
const fairBytesPerS = 1024 * 1024;
/**
 * Maximum delay in seconds that the backlog of a workspace adds to its new bodies: a day. With less,
 * a longer backlog would go before the new bodies of everybody once it had waited for so long.
 */
const delayMaxS = 86_400;
/** The cost of what is served in that time. A workspace may have no larger backlog. */
export const backlogCostMax = delayMaxS * fairBytesPerS;
/** The largest priority that BullMQ sorts by: 24 days in seconds. */
const priorityMax = 2 ** 21;
/** Maximum number of workspace backlogs that a process remembers. */
const workspacesMax = 10_000;

/** For so long a process knows a backlog of which it does not hear. */
const knownMs = 5_000;

interface KnownBacklog {
  cost: number;
  atMs: number;
}

/** A known backlog, and the earliest turn of the next body in it, in seconds since the epoch. */
interface Remembered extends KnownBacklog {
  nextS: number;
}

/** When it is the turn of a body: as BullMQ sorts, and in seconds after the time of the lane at its receipt. */
interface Turn {
  priority: number;
  delayS: number;
}

/** Bodies of a backlog of so many seconds keep their order. */
const inOrderFromS = 4;

/**
 * Decides the order of a lane. The priority of a body is the time of its turn if its workspace were
 * served at `fairBytesPerS`: the time of the lane, plus the seconds of its backlog at that rate, at most a day.
 * So a body of a workspace with a short backlog goes before the backlog of another workspace.
 * The time of the lane is the current one, in seconds since a base that all processes share. If the workers are slower
 * than that rate, the turn of the next body is over; then the time of the lane is a second after that turn, so that
 * new bodies of others do not wait for a backlog. Then the turn of each body of a backlog begins when that of the one
 * before ends. This is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the time of the lane is its virtual
 * time, and a turn is a start tag.
 * While a workspace has a backlog of some seconds, no body of it comes before an earlier one, although the
 * workers may be faster than that rate.
 * No body waits forever: its turn is fixed when it is received, and the time of the lane goes on with each turn.
 * A process estimates the backlog from the answer of Redis to its last publish and from what it has
 * sent since. The estimate shrinks at the fair rate.
 */
export class LaneSchedule {
  readonly #backlogs = new LRUCache<string, Remembered>({ max: workspacesMax });

  /**
   * Returns the turn of a body that is published now. `nextDueS` is the turn of the next body of its lane, in seconds
   * since the epoch; undefined when none waits. Counts the body as waiting until {@link learn} brings a newer value.
   */
  turnOf(
    workspaceId: string,
    { lane, cost }: BacklogShare,
    { nowMs, baseS, nextDueS }: { nowMs: number; baseS: number; nextDueS: number | undefined },
  ): Turn {
    const key = `${workspaceId} ${lane}`;
    const known = this.#backlogs.get(key);
    const backlog = known === undefined ? 0 : leftOf(known, nowMs);
    const nowS = Math.floor(nowMs / 1_000);
    const timeOfLaneS = nextDueS === undefined ? nowS : Math.min(nowS, nextDueS + 1);
    const ofBacklogS = backlog / fairBytesPerS;
    const nextS = ofBacklogS < inOrderFromS ? 0 : (known?.nextS ?? 0);
    const dueS = Math.min(Math.max(timeOfLaneS + ofBacklogS, nextS), timeOfLaneS + delayMaxS);
    // Workers that are faster than the rate would leave the turns of a backlog ever further behind those of others.
    const tookS = timeOfLaneS < nowS ? cost / fairBytesPerS : 0;
    this.#backlogs.set(key, { cost: backlog + cost, atMs: nowMs, nextS: dueS + tookS });
    // 0 means no priority, and BullMQ serves such jobs first.
    const priority = Math.min(priorityMax, Math.max(1, Math.floor(dueS) - baseS));
    return { priority, delayS: Math.floor(dueS - timeOfLaneS) };
  }

  /**
   * Returns whether the backlog is known. An unknown one counts as empty, and other processes may have added to one that
   * this process has not heard of for a while.
   */
  knows(workspaceId: string, lane: string, nowMs: number): boolean {
    const known = this.#backlogs.get(`${workspaceId} ${lane}`);
    return known !== undefined && nowMs - known.atMs < knownMs;
  }

  /** Stores the backlog that Redis reported: after a publish, with the body that was just published. */
  learn(workspaceId: string, lane: string, known: KnownBacklog): void {
    const key = `${workspaceId} ${lane}`;
    this.#backlogs.set(key, { ...known, nextS: this.#backlogs.get(key)?.nextS ?? 0 });
  }
}

function leftOf({ cost, atMs }: KnownBacklog, nowMs: number): number {
  return Math.max(0, cost - (Math.max(0, nowMs - atMs) / 1_000) * fairBytesPerS);
}

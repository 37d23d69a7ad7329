import { RateLimitedError } from '../../../lib/errors.ts';
import type { WorkspaceBacklog } from '../../../queue/backlog.ts';
import { backlogCostMax } from '../../../queue/lane-schedule.ts';

/** One workspace's share of the bytes that bodies may use in Redis. */
const shareMax = 0.25;
/** A workspace with fewer bytes is refused only when all are. */
const bytesMin = 1024 * 1024;
/** Workspaces that are remembered as full. Redis is asked again before one of them is refused. */
const workspacesMax = 1_000;
const retryAfterS = 5;

export interface BacklogSharesDeps {
  /** Returns a workspace's unfinished bodies in Redis. */
  backlogOf: (workspaceId: string) => Promise<WorkspaceBacklog>;
}

/** The memory for bodies in Redis. */
export interface BodyMemory {
  /** Bytes that all bodies together may use. */
  bytesMax: number;
  /** Bytes that are left of it. */
  bytesLeft: number;
}

/**
 * Bounds what one workspace has waiting: its share of the memory of Redis, and the work, because a
 * few bytes can be much work. The share is a quarter, but not more than is left: n workspaces that fill
 * the queue leave an (n + 1)th of it (dynamic thresholds: Choudhury and Hahne, 1998). So they are refused before
 * all others are. A publish reports the backlog of its workspace; a full one is remembered. Requests of other
 * workspaces cost no query.
 */
export class BacklogShares {
  readonly #deps: BacklogSharesDeps;
  readonly #full = new Set<string>();

  constructor(deps: BacklogSharesDeps) {
    this.#deps = deps;
  }

  /** Notes the unfinished bodies of a workspace. */
  note(workspaceId: string, backlog: WorkspaceBacklog, memory: BodyMemory): void {
    if (whyFull(backlog, memory) === undefined) this.#full.delete(workspaceId);
    else if (this.#full.size < workspacesMax) this.#full.add(workspaceId);
  }

  /**
   * Checks the share of a workspace. Errors of Redis are ignored.
   * @throws RateLimitedError `workspace_busy` while the workspace has more than its share
   */
  async assertRoom(workspaceId: string, memory: BodyMemory): Promise<void> {
    if (!this.#full.has(workspaceId)) return;
    const backlog = await this.#deps.backlogOf(workspaceId).catch(() => ({ bytes: 0, cost: 0 }));
    this.note(workspaceId, backlog, memory);
    const why = whyFull(backlog, memory);
    if (why === undefined) return;
    throw new RateLimitedError('workspace_busy', `This workspace has ${why}. Send the spans again later.`, {
      retryAfterS,
    });
  }
}

/** Returns what the workspace has too much of, for a message; undefined when it has room. */
function whyFull({ bytes, cost }: WorkspaceBacklog, { bytesMax, bytesLeft }: BodyMemory): string | undefined {
  const bytesOfOne = Math.max(Math.floor(Math.min(bytesMax * shareMax, bytesLeft)), bytesMin);
  if (bytes > bytesOfOne) {
    return `${bytes} bytes that wait to be stored. The limit for one workspace is ${bytesOfOne} at the moment`;
  }
  if (cost <= backlogCostMax) return undefined;
  return `spans and log records waiting that are more work than ${backlogCostMax} bytes, the limit for one workspace`;
}

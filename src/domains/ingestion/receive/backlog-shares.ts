import { RateLimitedError } from '../../../lib/errors.ts';
import type { WorkspaceBacklog } from '../../../queue/backlog.ts';
import { backlogCostMax } from '../../../queue/lane-schedule.ts';

/** One workspace's share of the bytes that bodies may use in Redis. */
const shareMax = 0.25;
/** Workspaces that are remembered as full. Redis is asked again before one of them is refused. */
const workspacesMax = 1_000;
const retryAfterS = 5;

export interface BacklogSharesDeps {
  /** Returns a workspace's unfinished bodies in Redis. */
  backlogOf: (workspaceId: string) => Promise<WorkspaceBacklog>;
}

/**
 * Bounds what one workspace has waiting: its share of the memory of Redis, and the work, because a
 * few bytes can be much work. So the workspace that fills the queue is refused before all others
 * are. A publish reports the backlog of its workspace; a full one is remembered. Requests of other
 * workspaces cost no query.
 */
export class BacklogShares {
  readonly #deps: BacklogSharesDeps;
  readonly #full = new Set<string>();

  constructor(deps: BacklogSharesDeps) {
    this.#deps = deps;
  }

  /** Notes the unfinished bodies of a workspace. All bodies together may use `bytesMax`. */
  note(workspaceId: string, backlog: WorkspaceBacklog, bytesMax: number): void {
    if (whyFull(backlog, bytesMax) === undefined) this.#full.delete(workspaceId);
    else if (this.#full.size < workspacesMax) this.#full.add(workspaceId);
  }

  /**
   * Checks the share of a workspace. Errors of Redis are ignored.
   * @throws RateLimitedError `workspace_busy` while the workspace has more than its share
   */
  async assertRoom(workspaceId: string, bytesMax: number): Promise<void> {
    if (!this.#full.has(workspaceId)) return;
    const backlog = await this.#deps.backlogOf(workspaceId).catch(() => ({ bytes: 0, cost: 0 }));
    this.note(workspaceId, backlog, bytesMax);
    const why = whyFull(backlog, bytesMax);
    if (why === undefined) return;
    throw new RateLimitedError('workspace_busy', `This workspace has ${why}. Send the spans again later.`, {
      retryAfterS,
    });
  }
}

/** Returns what the workspace has too much of, for a message; undefined when it has room. */
function whyFull({ bytes, cost }: WorkspaceBacklog, bytesMax: number): string | undefined {
  const bytesOfOne = Math.floor(bytesMax * shareMax);
  if (bytes > bytesMax * shareMax) {
    return `${bytes} bytes that wait to be stored. The limit for one workspace is ${bytesOfOne}`;
  }
  if (cost <= backlogCostMax) return undefined;
  return `spans and log records waiting that are more work than ${backlogCostMax} bytes, the limit for one workspace`;
}

import { RateLimitedError } from '../../../lib/errors.ts';

/** One workspace's share of the bytes that bodies may use in Redis. */
const shareMax = 0.25;
/** Workspaces that are remembered as full. Redis is asked again before one of them is refused. */
const workspacesMax = 1_000;
const retryAfterS = 5;

export interface BacklogSharesDeps {
  /** Returns the bytes of a workspace's unfinished bodies in Redis. */
  backlogBytes: (workspaceId: string) => Promise<number>;
}

/**
 * Bounds the share of Redis memory that one workspace may fill, so that the workspace that fills
 * the queue is refused before all others are. A publish reports the bytes of its workspace; a full
 * one is remembered. Requests of other workspaces cost no query.
 */
export class BacklogShares {
  readonly #deps: BacklogSharesDeps;
  readonly #full = new Set<string>();

  constructor(deps: BacklogSharesDeps) {
    this.#deps = deps;
  }

  /** Notes the unfinished bytes of a workspace. All bodies together may use `bytesMax`. */
  note(workspaceId: string, bytes: number, bytesMax: number): void {
    if (bytes <= bytesMax * shareMax) this.#full.delete(workspaceId);
    else if (this.#full.size < workspacesMax) this.#full.add(workspaceId);
  }

  /**
   * Checks the share of a workspace. Errors of Redis are ignored.
   * @throws RateLimitedError `workspace_busy` while the workspace has more than its share
   */
  async assertRoom(workspaceId: string, bytesMax: number): Promise<void> {
    if (!this.#full.has(workspaceId)) return;
    const bytes = await this.#deps.backlogBytes(workspaceId).catch(() => 0);
    this.note(workspaceId, bytes, bytesMax);
    if (!this.#full.has(workspaceId)) return;
    throw new RateLimitedError(
      'workspace_busy',
      `This workspace has ${bytes} bytes that wait to be stored. The limit for one workspace is ${Math.floor(bytesMax * shareMax)}. Send the spans again later.`,
      { retryAfterS },
    );
  }
}

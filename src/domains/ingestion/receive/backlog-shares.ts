import { RateLimitedError } from '../../../lib/errors.ts';

/** Of the bytes that bodies may use in Redis, what those of one workspace may. */
const shareMax = 0.25;
/** Workspaces that are remembered as full; each is asked about again before it is refused. */
const workspacesMax = 1_000;
const retryAfterS = 5;

export interface BacklogSharesDeps {
  /** What a workspace has unfinished in Redis, in bytes. */
  backlogBytes: (workspaceId: string) => Promise<number>;
}

/**
 * Bounds what one workspace keeps of the memory that all bodies share, so that the one that fills the queue is refused before
 * everybody is. What a publish answered about its workspace is remembered while it is too much; requests of others ask nothing.
 */
export class BacklogShares {
  readonly #deps: BacklogSharesDeps;
  readonly #full = new Set<string>();

  constructor(deps: BacklogSharesDeps) {
    this.#deps = deps;
  }

  /** Notes what a workspace has unfinished, of `bytesMax` that all bodies may use. */
  note(workspaceId: string, bytes: number, bytesMax: number): void {
    if (bytes <= bytesMax * shareMax) this.#full.delete(workspaceId);
    else if (this.#full.size < workspacesMax) this.#full.add(workspaceId);
  }

  /** Throws RateLimitedError (`workspace_busy`) while the workspace has more than its share; what Redis throws is ignored. */
  async assertRoom(workspaceId: string, bytesMax: number): Promise<void> {
    if (!this.#full.has(workspaceId)) return;
    const bytes = await this.#deps.backlogBytes(workspaceId).catch(() => 0);
    this.note(workspaceId, bytes, bytesMax);
    if (!this.#full.has(workspaceId)) return;
    throw new RateLimitedError(
      'workspace_busy',
      `This workspace has ${bytes} bytes waiting to be stored; one workspace may have ${Math.floor(bytesMax * shareMax)}. Send the spans again.`,
      { retryAfterS },
    );
  }
}

import { UnavailableError } from '../../../lib/errors.ts';
import type { Waiter } from '../../../lib/fair-lane.ts';
import type { EncodingName, TextTokens } from '../tokens/count-in.ts';
import { RefusedWork } from './refused-work.ts';
import type { ThreadWork, WorkName } from './tasks.ts';
import { ThreadPool } from './thread-pool.ts';
import { type Speed, WorkLanes } from './work-lanes.ts';

/** The threads as one workspace has them; see {@link WorkLanes} for its share. */
export interface WorkspaceThreads {
  readonly workspaceId: string;
  /**
   * Throws TemplateLimitError after `limitMs` of running or without memory, RateLimitedError (`workspace_busy`), UnavailableError
   * (`server_busy`), and the reason of the caller's signal.
   */
  run<Name extends WorkspaceWork>(
    name: Name,
    task: ThreadWork[Name]['task'],
    limitMs?: number,
  ): Promise<ThreadWork[Name]['result']>;
}

/** Tokens are counted in turns that workspaces share (see TokenCounter), so no workspace asks for that by itself. */
type WorkspaceWork = Exclude<WorkName, 'countTokens'>;

type PoolName = Speed | 'tokens';

const defaultLimitMs = 300;

/**
 * Threads for templates, input schemas and token counts. Counting has a thread of its own, whose large tables take most of a second
 * to load, so it stays. A workspace whose work went over its time or memory goes on in a thread apart: what that thread's replacement costs after a
 * template has ended it is theirs too.
 */
export class TemplateThreads {
  readonly #pools: Readonly<Record<PoolName, ThreadPool>> = {
    quick: new ThreadPool({ threadsMin: 2, threadsMax: 2, heapMbMax: 96, idleMs: Number.POSITIVE_INFINITY }),
    slow: new ThreadPool({ threadsMin: 0, threadsMax: 1, heapMbMax: 96, idleMs: 30_000 }),
    tokens: new ThreadPool({ threadsMin: 0, threadsMax: 1, heapMbMax: 512, idleMs: Number.POSITIVE_INFINITY }),
  };
  readonly #lanes = new WorkLanes();
  readonly #refused = new RefusedWork();
  #closed = false;

  /** The threads as a workspace has them. Work of a `waiter` who has gone does not begin. */
  of(workspaceId: string, waiter?: Waiter): WorkspaceThreads {
    return {
      workspaceId,
      run: (name, task, limitMs = defaultLimitMs) => {
        const run = () => this.#lanes.run(workspaceId, waiter, (speed) => this.#runIn(speed, name, task, limitMs));
        // To know work again costs a hash, which the quick ones are spared.
        return this.#lanes.isSlow(workspaceId) ? this.#refused.orRun([workspaceId, name, task], run) : run();
      },
    };
  }

  /** Tokens of each text. Throws TemplateLimitError after `limitMs`, UnavailableError. */
  async countTokens(encoding: EncodingName, texts: string[], limitMs: number): Promise<TextTokens[]> {
    return this.#runIn('tokens', 'countTokens', { encoding, texts }, limitMs);
  }

  /** Starts threads for templates, so that the first calls do not wait for them. */
  warmUp(): void {
    this.#pools.quick.start();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }

  async #runIn<Name extends WorkName>(
    pool: PoolName,
    name: Name,
    task: ThreadWork[Name]['task'],
    limitMs: number,
  ): Promise<ThreadWork[Name]['result']> {
    if (this.#closed) throw new UnavailableError('dependency_unavailable', 'The process is shutting down');
    return this.#pools[pool].run(name, task, limitMs);
  }
}

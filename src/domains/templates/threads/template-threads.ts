import { UnavailableError } from '../../../lib/errors.ts';
import type { Waiter } from '../../../lib/fair-lane-options.ts';
import type { EncodingName, TextTokens } from '../tokens/count-in.ts';
import { RefusedWork } from './refused-work.ts';
import type { ThreadWork, WorkName } from './tasks.ts';
import { ThreadPool } from './thread-pool.ts';
import { type Speed, WorkLanes } from './work-lanes.ts';

/** The worker threads as one workspace sees them; see {@link WorkLanes} for its share. */
export interface WorkspaceThreads {
  readonly workspaceId: string;
  /**
   * Runs a task in a worker thread.
   * @throws TemplateLimitError after `limitMs` of running or when memory is exhausted
   * @throws RateLimitedError (`workspace_busy`), UnavailableError (`server_busy`)
   * @throws the reason of the caller's signal
   */
  run<Name extends WorkspaceWork>(
    name: Name,
    task: ThreadWork[Name]['task'],
    limitMs?: number,
  ): Promise<ThreadWork[Name]['result']>;
}

/**
 * Tasks a workspace may start. Tokens are counted in turns that workspaces share (see
 * TokenCounter), so no workspace starts that task itself.
 */
type WorkspaceWork = Exclude<WorkName, 'countTokens'>;

type PoolName = Speed | 'tokens';

const defaultLimitMs = 300;

/**
 * Worker threads for templates, input schemas, metrics and token counts. Counting has its own thread, which
 * does not end when idle, because its tables take almost a second to load. A workspace whose work
 * exceeded its time or memory is moved to a separate thread. So the cost of replacing a terminated
 * thread affects only such workspaces.
 */
export class TemplateThreads {
  readonly #pools: Readonly<Record<PoolName, ThreadPool>>;
  readonly #lanes = new WorkLanes();
  readonly #refused = new RefusedWork();
  #closed = false;

  /** In a worker process all of this is background work. */
  constructor({ isBackground }: { isBackground: boolean } = { isBackground: false }) {
    const kept = { isBackground, idleMs: Number.POSITIVE_INFINITY };
    this.#pools = {
      quick: new ThreadPool({ ...kept, threadsMin: 2, threadsMax: 2, heapMbMax: 96 }),
      slow: new ThreadPool({ isBackground: true, idleMs: 30_000, threadsMin: 0, threadsMax: 1, heapMbMax: 96 }),
      tokens: new ThreadPool({ ...kept, threadsMin: 0, threadsMax: 1, heapMbMax: 512 }),
    };
  }

  /**
   * Returns the threads for a workspace. Work of a `waiter` whose signal is aborted does not begin.
   */
  of(workspaceId: string, waiter?: Waiter): WorkspaceThreads {
    return {
      workspaceId,
      run: (name, task, limitMs = defaultLimitMs) => {
        const run = () => this.#lanes.run(workspaceId, waiter, (speed) => this.#runIn(speed, name, task, limitMs));
        // Recognizing the same work costs a hash, so only slow workspaces pay for it.
        return this.#lanes.isSlow(workspaceId) ? this.#refused.orRun({ workspaceId, name, task }, run) : run();
      },
    };
  }

  /**
   * Counts the tokens of each text.
   * @throws TemplateLimitError after `limitMs`
   * @throws UnavailableError
   */
  async countTokens(encoding: EncodingName, texts: string[], limitMs: number): Promise<TextTokens[]> {
    return this.#runIn('tokens', 'countTokens', { encoding, texts }, limitMs);
  }

  /** Starts the threads for templates, so that the first calls do not wait for them. */
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

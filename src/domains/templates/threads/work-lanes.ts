import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { RateLimitedError } from '../../../lib/errors.ts';
import { FairLane } from '../../../lib/fair-lane.ts';
import { requestWaitMsMax, type Waiter } from '../../../lib/fair-lane-options.ts';
import { type TemplateBudget, TemplateLimitError } from '../problems.ts';

/**
 * Limits that make a workspace slow when exceeded. The duration of the work is not used, because on
 * a busy machine it would also make innocent workspaces slow.
 */
const slowBudgets: ReadonlySet<TemplateBudget> = new Set(['time', 'memory']);
/** Milliseconds for which a workspace stays slow after its last slow work. */
const slowForMs = 10_000;
/** Maximum number of slow workspaces remembered. A forgotten workspace is quick again. */
const slowWorkspacesMax = 1_000;

/** Each piece of work in front in the slow lane may take up to 300 ms. */
const lanes = {
  quick: { name: 'templates', capacity: 2, perKey: 1, waitingPerKey: 64, waitingMax: 512, waitMsMax: requestWaitMsMax },
  slow: { name: 'templates', capacity: 1, perKey: 1, waitingPerKey: 16, waitingMax: 256, waitMsMax: requestWaitMsMax },
} as const;
export type Speed = keyof typeof lanes;

/**
 * Delay before a refusal. A client that retries immediately would cost the event loop more than the
 * refused work.
 */
const refusedAfterMs = 250;

/**
 * Shares the worker threads for templates between all workspaces. A workspace runs one piece of
 * work at a time. It may have 64 waiting, or 16 for 10 s after its work exceeded its time or
 * memory; more is refused with 429. Workspaces take turns. Two quick workspaces and one slow
 * workspace run at once, so neither one workspace nor all slow ones together keep a quick one from
 * a thread. The time limit of the work starts with its turn.
 */
export class WorkLanes {
  readonly #lanes: Readonly<Record<Speed, FairLane>> = {
    quick: new FairLane(lanes.quick),
    slow: new FairLane(lanes.slow),
  };
  readonly #slowUntilMs = new LRUCache<string, number>({ max: slowWorkspacesMax });

  isSlow(workspaceId: string): boolean {
    return (this.#slowUntilMs.get(workspaceId) ?? 0) > performance.now();
  }

  /**
   * Runs work in its turn.
   * @throws RateLimitedError (`workspace_busy`), UnavailableError (`server_busy`)
   * @throws the reason of the waiter's signal
   */
  async run<T>(workspaceId: string, waiter: Waiter | undefined, work: (speed: Speed) => Promise<T>): Promise<T> {
    const { speed, leave } = await this.#enter(workspaceId, waiter);
    try {
      return await work(speed);
    } catch (error) {
      const isSlow = error instanceof TemplateLimitError && slowBudgets.has(error.budget);
      if (isSlow) this.#slowUntilMs.set(workspaceId, performance.now() + slowForMs);
      throw error;
    } finally {
      leave();
    }
  }

  async #enter(workspaceId: string, waiter: Waiter | undefined): Promise<{ speed: Speed; leave: () => void }> {
    try {
      if (!this.isSlow(workspaceId)) {
        const leave = await this.#lanes.quick.enter(workspaceId, { waiter });
        if (!this.isSlow(workspaceId)) return { speed: 'quick', leave };
        // Earlier work of this workspace became slow while this work waited.
        leave();
      }
      return { speed: 'slow', leave: await this.#lanes.slow.enter(workspaceId, { waiter }) };
    } catch (error) {
      if (error instanceof RateLimitedError) await delay(refusedAfterMs);
      throw error;
    }
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { RateLimitedError } from '../../../lib/errors.ts';
import { FairLane, requestWaitMsMax, type Waiter } from '../../../lib/fair-lane.ts';
import { type TemplateBudget, TemplateLimitError } from '../problems.ts';

/** What makes a workspace slow: how long work took would make those slow who share a busy machine with it. */
const slowBudgets: ReadonlySet<TemplateBudget> = new Set(['time', 'memory']);
/** So long after its last slow work. */
const slowForMs = 10_000;
/** Twice as many are remembered at most; who is forgotten begins as quick again. */
const slowWorkspacesMax = 1_000;

/** Those who wait in the slow lane wait for up to 300 ms each. */
const lanes = {
  quick: { name: 'templates', capacity: 2, perKey: 1, waitingPerKey: 64, waitingMax: 512, waitMsMax: requestWaitMsMax },
  slow: { name: 'templates', capacity: 1, perKey: 1, waitingPerKey: 16, waitingMax: 256, waitMsMax: requestWaitMsMax },
} as const;
export type Speed = keyof typeof lanes;

/** Who is refused and asks again at once would cost the event loop more than the work that is refused. */
const refusedAfterMs = 250;

/**
 * Who shares the threads for templates: all workspaces. One of them runs one piece of work at a time and has 64 waiting, or 16 once
 * its work went over its time or memory, for 10 s (then 429); turns go round between workspaces. Two run at once among the quick
 * ones, one among the slow ones, so neither one workspace nor all slow ones together keep a quick one from a thread. The time
 * limit of the work counts from its turn.
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

  /** Throws RateLimitedError (`workspace_busy`), UnavailableError (`server_busy`), the reason of the waiter's signal. */
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
        // What ran before it in its workspace was slow.
        leave();
      }
      return { speed: 'slow', leave: await this.#lanes.slow.enter(workspaceId, { waiter }) };
    } catch (error) {
      if (error instanceof RateLimitedError) await delay(refusedAfterMs);
      throw error;
    }
  }
}

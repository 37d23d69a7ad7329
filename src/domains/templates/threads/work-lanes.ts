import { BoundedMemo } from '../../../lib/bounded-memo.ts';
import { UnavailableError } from '../../../lib/errors.ts';
import { FairLane } from '../../../lib/fair-lane.ts';

/** Who waits: their work leaves the lane when the signal is aborted. Read only when work is to run. */
export interface Waiter {
  readonly signal: AbortSignal;
}

/** Longer work makes its workspace slow; a render of a real prompt takes a few milliseconds. */
const slowMs = 50;
/** So long after its last slow work. */
const slowForMs = 10_000;
/** Twice as many are remembered at most; who is forgotten begins as quick again. */
const slowWorkspacesMax = 1_000;

const waiting = { waitingPerKey: 32, waitingMax: 512 };
/** Of waiting for a turn: the 32 of a workspace that all take their longest may take longer. */
const waitMsMax = 10_000;

/**
 * Who shares the threads for templates: all workspaces. One of them runs one piece of work at a time and has 32 waiting (then 429);
 * turns go round between workspaces. Two run at once among the quick ones, one among those that were slow within 10 s, so neither
 * one workspace nor all slow ones together keep a quick one from a thread. The time limit of the work counts from its turn.
 */
export class WorkLanes {
  readonly #quick = new FairLane({ name: 'templates', capacity: 2, perKey: 1, ...waiting });
  readonly #slow = new FairLane({ name: 'templates', capacity: 1, perKey: 1, ...waiting });
  readonly #slowUntilMs = new BoundedMemo<number>(slowWorkspacesMax);

  isSlow(workspaceId: string): boolean {
    return (this.#slowUntilMs.get(workspaceId) ?? 0) > performance.now();
  }

  /** Throws RateLimitedError (`workspace_busy`), UnavailableError (`server_busy`), the reason of the waiter's signal. */
  async run<T>(
    workspaceId: string,
    waiter: Waiter | undefined,
    work: (speed: 'quick' | 'slow') => Promise<T>,
  ): Promise<T> {
    const speed = this.isSlow(workspaceId) ? 'slow' : 'quick';
    const leave = await this.#enter(speed === 'slow' ? this.#slow : this.#quick, workspaceId, waiter);
    const startedAtMs = performance.now();
    try {
      return await work(speed);
    } finally {
      leave();
      const endedAtMs = performance.now();
      if (endedAtMs - startedAtMs > slowMs) this.#slowUntilMs.set(workspaceId, endedAtMs + slowForMs);
    }
  }

  async #enter(lane: FairLane, workspaceId: string, waiter: Waiter | undefined): Promise<() => void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLate()), waitMsMax);
    try {
      const signal = waiter === undefined ? late.signal : AbortSignal.any([late.signal, waiter.signal]);
      return await lane.enter(workspaceId, { signal });
    } finally {
      clearTimeout(timer);
    }
  }
}

const tooLate = () =>
  new UnavailableError('server_busy', `No thread for templates was free within ${waitMsMax} ms`, { retryAfterS: 1 });

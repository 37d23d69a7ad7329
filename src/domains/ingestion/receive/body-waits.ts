import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { FairLane } from '../../../lib/fair-lane.ts';
import type { AwaitedBody, BodyPublisher } from '../../../queue/body-publisher.ts';
import type { IngestOutcome } from '../../../queue/job-catalog.ts';

/** A body is stored after some 300 ms when the workers keep up. */
const roundMs = 50;
/** Bodies that one script of Redis looks up, in half a millisecond. */
const bodiesPerScript = 200;
/** Waits that end in one turn of the event loop: their answers take some 0.2 ms each, and other requests have their turn in between. */
const endsPerTurn = 8;

/** `pending` when it has not been decided in time, `not_waited` when too many wait already. */
export type WaitResult = 'stored' | 'quarantined' | 'pending' | 'not_waited';

export interface WaitOptions {
  workspaceId: string;
  timeoutMs: number;
  /** Aborted when nobody waits any more. */
  signal: AbortSignal;
}

interface Wait {
  body: AwaitedBody;
  untilMs: number;
  signal: AbortSignal;
  end: (result: WaitResult) => void;
}

/**
 * Requests that wait for their body to be stored and its trace to be listed. All of a process are asked about together, by one
 * command a round: BullMQ's events would cost every process a connection and every event of every body, waited for or not. Shared
 * by all workspaces, of which one has at most a quarter of the places.
 */
export class BodyWaits {
  readonly #publisher: Pick<BodyPublisher, 'outcomes'>;
  readonly #places: FairLane;
  readonly #waits = new Set<Wait>();
  #isAsking = false;

  constructor(publisher: Pick<BodyPublisher, 'outcomes'>, { waitsMax = 800, perWorkspace = 200 } = {}) {
    this.#publisher = publisher;
    const shares = { capacity: waitsMax, perKey: perWorkspace, waitingPerKey: 0, waitingMax: 0 };
    this.#places = new FairLane({ name: 'waits for executions', ...shares });
  }

  /** Waits at most `timeoutMs`, and no longer than until the signal is aborted. Never throws: the body is safe in any case. */
  async wait(body: AwaitedBody, { workspaceId, timeoutMs, signal }: WaitOptions): Promise<WaitResult> {
    const leave = await this.#places.enter(workspaceId).catch(() => undefined);
    if (leave === undefined) return 'not_waited';
    const result = await new Promise<WaitResult>((end) => {
      this.#waits.add({ body, untilMs: Date.now() + timeoutMs, signal, end });
      if (!this.#isAsking) void this.#ask();
    });
    leave();
    return result;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#waits.size > 0) {
      const waits = [...this.#waits];
      for (let at = 0; at < waits.length; at += bodiesPerScript) {
        await this.#endDecided(waits.slice(at, at + bodiesPerScript));
      }
      if (this.#waits.size > 0) await sleep(roundMs);
    }
    this.#isAsking = false;
  }

  async #endDecided(waits: readonly Wait[]): Promise<void> {
    // While Redis is away nothing is known, which is no reason to stop asking.
    const outcomes = await this.#publisher.outcomes(waits.map(({ body }) => body)).catch((): IngestOutcome[] => []);
    let ended = 0;
    for (const [index, wait] of waits.entries()) {
      const outcome = outcomes[index];
      const isDecided = outcome === 'stored' || outcome === 'quarantined';
      if (!isDecided && !wait.signal.aborted && Date.now() < wait.untilMs) continue;
      this.#waits.delete(wait);
      wait.end(isDecided ? outcome : 'pending');
      if (++ended % endsPerTurn === 0) await nextTurn();
    }
  }
}

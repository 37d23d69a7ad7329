import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { FairLane } from '../../../lib/fair-lane.ts';
import type { AwaitedBody, BodyPublisher } from '../../../queue/body-publisher.ts';
import type { IngestOutcome } from '../../../queue/job-catalog.ts';

/** Time between two queries. A body is stored after about 300 ms when the workers keep up. */
const roundMs = 50;
/** Bodies that one Redis script looks up; it takes half a millisecond. */
const bodiesPerScript = 200;
/**
 * Waits that end in one turn of the event loop. Each answer takes about 0.2 ms; other requests run
 * between two turns.
 */
const endsPerTurn = 8;

/** `pending`: not decided in time. `not_waited`: too many requests wait already. */
export type WaitResult = 'stored' | 'quarantined' | 'pending' | 'not_waited';

export interface WaitOptions {
  workspaceId: string;
  timeoutMs: number;
  /** Aborted when the client no longer waits. */
  signal: AbortSignal;
}

interface Wait {
  body: AwaitedBody;
  untilMs: number;
  signal: AbortSignal;
  end: (result: WaitResult) => void;
}

/**
 * Requests that wait until their body is stored and its trace is listed. One command per round asks
 * Redis about all waits of a process: BullMQ's events would cost each process a connection and
 * deliver every event of every body. Shared by all workspaces; one has at most a quarter of the
 * places.
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

  /**
   * Waits at most `timeoutMs`, or until the signal is aborted. Never throws: the body is already
   * durable.
   */
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
    // While Redis is unavailable the outcomes are unknown, so the loop continues to ask.
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

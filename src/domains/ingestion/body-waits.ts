import { setTimeout as sleep } from 'node:timers/promises';
import type { BodyPublisher } from '../../queue/body-publisher.ts';

/** Each look is one HGETALL of a small hash; a body is stored after some 300 ms when the workers keep up. */
const pollFirstMs = 25;
const pollMaxMs = 250;
const pollGrowth = 1.4;

/** `pending` when it has not been decided in time, `not_waited` when too many wait already. */
export type WaitResult = 'stored' | 'quarantined' | 'pending' | 'not_waited';

/**
 * Requests that wait for their body to be stored. They ask for its job now and then: BullMQ's events would cost every process a
 * connection and every event of every body, waited for or not.
 */
export class BodyWaits {
  readonly #publisher: Pick<BodyPublisher, 'outcome'>;
  readonly #waitsMax: number;
  #waits = 0;

  constructor(publisher: Pick<BodyPublisher, 'outcome'>, waitsMax = 200) {
    this.#publisher = publisher;
    this.#waitsMax = waitsMax;
  }

  /** Waits at most `timeoutMs`, and no longer than until the signal is aborted. Never throws: the body is safe in any case. */
  async wait(jobId: string, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<WaitResult> {
    if (this.#waits >= this.#waitsMax) return 'not_waited';
    this.#waits++;
    try {
      return await this.#poll(jobId, Date.now() + timeoutMs, signal);
    } finally {
      this.#waits--;
    }
  }

  async #poll(jobId: string, untilMs: number, signal: AbortSignal): Promise<WaitResult> {
    for (let pollMs = pollFirstMs; ; pollMs = Math.min(pollMs * pollGrowth, pollMaxMs)) {
      // While Redis is away nothing is known, which is no reason to stop asking.
      const outcome = await this.#publisher.outcome(jobId).catch(() => undefined);
      if (outcome === 'stored' || outcome === 'quarantined') return outcome;
      const leftMs = untilMs - Date.now();
      if (leftMs <= 0 || signal.aborted) return 'pending';
      await sleep(Math.min(pollMs, leftMs), undefined, { signal }).catch(() => undefined);
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { BodyPublisher } from '../../queue/body-publisher.ts';
import type { IngestOutcome } from '../../queue/job-catalog.ts';

/** Each look is one HGETALL of a small hash; a body is stored after some 300 ms when the workers keep up. */
const pollFirstMs = 25;
const pollMaxMs = 250;
const pollGrowth = 1.4;

type Publisher = Pick<BodyPublisher, 'outcome' | 'awaitsSummary'>;

/** A body, and the one trace that its spans are of. */
export interface AwaitedBody {
  jobId: string;
  projectId: string;
  traceId: string;
}

/** `pending` when it has not been decided in time, `not_waited` when too many wait already. */
export type WaitResult = 'stored' | 'quarantined' | 'pending' | 'not_waited';

/**
 * Requests that wait for their body to be stored and its trace to be listed. They ask for its job now and then: BullMQ's events would cost every process a
 * connection and every event of every body, waited for or not.
 */
export class BodyWaits {
  readonly #publisher: Publisher;
  readonly #waitsMax: number;
  #waits = 0;

  constructor(publisher: Publisher, waitsMax = 200) {
    this.#publisher = publisher;
    this.#waitsMax = waitsMax;
  }

  /** Waits at most `timeoutMs`, and no longer than until the signal is aborted. Never throws: the body is safe in any case. */
  async wait(
    body: AwaitedBody,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<WaitResult> {
    if (this.#waits >= this.#waitsMax) return 'not_waited';
    this.#waits++;
    try {
      return await this.#poll(body, Date.now() + timeoutMs, signal);
    } finally {
      this.#waits--;
    }
  }

  async #poll(body: AwaitedBody, untilMs: number, signal: AbortSignal): Promise<WaitResult> {
    for (let pollMs = pollFirstMs; ; pollMs = Math.min(pollMs * pollGrowth, pollMaxMs)) {
      // While Redis is away nothing is known, which is no reason to stop asking.
      const outcome = await this.#outcomeOf(body).catch(() => undefined);
      if (outcome === 'stored' || outcome === 'quarantined') return outcome;
      const leftMs = untilMs - Date.now();
      if (leftMs <= 0 || signal.aborted) return 'pending';
      await sleep(Math.min(pollMs, leftMs), undefined, { signal }).catch(() => undefined);
    }
  }

  /** A trace that is stored and not listed yet is not readable as a whole. */
  async #outcomeOf({ jobId, projectId, traceId }: AwaitedBody): Promise<IngestOutcome | undefined> {
    const outcome = await this.#publisher.outcome(jobId);
    return outcome === 'stored' && (await this.#publisher.awaitsSummary(projectId, traceId)) ? undefined : outcome;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { requestWaitMsMax, type Waiter } from '../lib/fair-lane-options.ts';
import type { LaneCompany } from '../lib/lane-keys.ts';
import type { Contract } from './contract.ts';

/** Smaller answers are not counted. */
const countedBytesMin = 64 * 1024;
/** 8 MiB/s: to read, convert and send 1 MiB takes 9 to 20 ms of the event loop, and time of Postgres or ClickHouse. */
const bytesPerMs = 8 * 1024;
/** How far a sharer may be ahead of its rate. */
const aheadMsMax = 250;
/** How long a request waits at most, however much its sharer has read. */
const waitMsMax = 4_000;

/** What a sharer has read. */
interface Reader {
  /** When it would have read this at its rate. */
  untilMs: number;
  /** The operations with large answers. */
  operations: Set<string>;
}

/**
 * Limits the rate at which sharers read large answers while several send requests. Rate limits count requests, and lanes
 * handlers at a time, so twelve connections could read 100 MiB a second, for which the event loop needs all of its
 * time. All sharers that read large answers have the same part of `bytesPerMs`. A sharer that is ahead of it has one
 * request at a time for each operation with large answers, after its time has come; its other requests go on.
 */
export class LargeReads {
  readonly #readers = new Map<string, Reader>();
  readonly #company: Pick<LaneCompany, 'isShared'>;
  readonly #turns = new FairLane({
    ...{ name: 'reads of large answers', capacity: Number.POSITIVE_INFINITY, perKey: 1 },
    ...{ waitingPerKey: 64, waitingMax: 4_096, waitMsMax: requestWaitMsMax },
  });

  /** @param company tells whether several sharers send requests */
  constructor(company: Pick<LaneCompany, 'isShared'>) {
    this.#company = company;
  }

  /** Counts an answer. */
  count({ operationId, rateClass }: Pick<Contract, 'operationId' | 'rateClass'>, sharer: string, bytes: number): void {
    if (bytes < countedBytesMin || rateClass === 'none') return;
    const nowMs = performance.now();
    for (const [each, { untilMs }] of this.#readers) if (untilMs < nowMs) this.#readers.delete(each);
    const reader = this.#readers.get(sharer) ?? { untilMs: nowMs, operations: new Set() };
    this.#readers.set(sharer, reader);
    reader.operations.add(operationId);
    // What it reads while nobody else sends requests delays nothing later.
    const mostMs = nowMs + aheadMsMax + (this.#company.isShared ? waitMsMax : 0);
    reader.untilMs = Math.min(reader.untilMs + (bytes / bytesPerMs) * this.#readers.size, mostMs);
  }

  /**
   * Runs the handler of a request when its sharer is not too far ahead.
   * @throws RateLimitedError `workspace_busy` when too many of its requests wait for that
   */
  run<T>(
    { operationId }: Pick<Contract, 'operationId'>,
    request: { sharer: string; waiter: Waiter },
    handle: () => Promise<T>,
  ): Promise<T> {
    const mustWait = this.#waitMs(operationId, request.sharer) > 0;
    return mustWait ? this.#runInTurn(operationId, request, handle) : handle();
  }

  async #runInTurn<T>(
    operationId: string,
    { sharer, waiter }: { sharer: string; waiter: Waiter },
    handle: () => Promise<T>,
  ): Promise<T> {
    const leave = await this.#turns.enter(`${sharer} ${operationId}`, { waiter });
    try {
      const waitMs = this.#waitMs(operationId, sharer);
      if (waitMs > 0) await delay(waitMs, undefined, { signal: waiter.signal });
      return await handle();
    } finally {
      // The answer is counted before the next one begins.
      setImmediate(leave);
    }
  }

  #waitMs(operationId: string, sharer: string): number {
    const reader = this.#readers.get(sharer);
    if (reader === undefined || !reader.operations.has(operationId) || !this.#company.isShared) return 0;
    return Math.max(0, reader.untilMs - aheadMsMax - performance.now());
  }
}

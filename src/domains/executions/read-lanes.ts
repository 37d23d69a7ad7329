import { FairLane, requestWaitMsMax } from '../../lib/fair-lane.ts';

/** Who reads: the workspace it counts against, and the signal that its client has gone or has its answer. */
export interface Reader {
  workspaceId: string;
  signal: AbortSignal;
}

const mebibyte = 1024 * 1024;

/**
 * Reads of executions, shared by all workspaces of the process. One of them holds at most `perKey` places of a lane, whatever it asks,
 * so that the engine, the threads and the memory are there for the others; a client that leaves gives its place back at once.
 */
export class ReadLanes {
  /** Lists by what executions say themselves, and traces of ordinary size: some ten milliseconds each. */
  readonly #quick = new FairLane({
    ...{ name: 'reads of executions', capacity: 12, perKey: 4 },
    ...{ waitingPerKey: 64, waitingMax: 256, waitMsMax: requestWaitMsMax },
  });
  /** Lists that look into spans, filter by a tree or count. Each is up to four queries at a time, of the six that the embedded engine runs. */
  readonly #searches = new FairLane({
    ...{ name: 'searches of executions', capacity: 3, perKey: 1 },
    ...{ waitingPerKey: 16, waitingMax: 64, waitMsMax: requestWaitMsMax },
  });
  /** Traces and parts that are read in threads, of which there are two. */
  readonly #large = new FairLane({
    ...{ name: 'reads of large executions', capacity: 2, perKey: 1 },
    ...{ waitingPerKey: 8, waitingMax: 32, waitMsMax: requestWaitMsMax },
  });
  /** Answers that are being sent, in MiB: what clients that read slowly make us hold. */
  readonly #answers = new FairLane({
    ...{ name: 'large answers', capacity: 192, perKey: 64 },
    ...{ waitingPerKey: 2, waitingMax: 8, waitMsMax: requestWaitMsMax },
  });

  /** Each throws RateLimitedError, UnavailableError, the reason of the reader's signal, and what `work` throws. */
  quick<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    return this.#quick.run(reader.workspaceId, work, { waiter: reader });
  }

  search<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    return this.#searches.run(reader.workspaceId, work, { waiter: reader });
  }

  large<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    return this.#large.run(reader.workspaceId, work, { waiter: reader });
  }

  /** Counts an answer as held until its client has it or has gone, where it is large enough to matter. */
  async holdAnswer(reader: Reader, bytes: number): Promise<void> {
    const { workspaceId, signal } = reader;
    if (bytes < mebibyte / 4) return;
    const leave = await this.#answers.enter(workspaceId, { cost: bytes / mebibyte, waiter: reader });
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  }
}

import { FairLane, type FairLaneOptions, requestWaitMsMax } from '../../lib/fair-lane.ts';

/** Who reads: the workspace it counts against, and the signal that its client has gone or has its answer. */
export interface Reader {
  workspaceId: string;
  signal: AbortSignal;
}

const mebibyte = 1024 * 1024;

/** The places of each lane; `answers` counts mebibytes. */
const lanes = {
  /** Lists by what executions say themselves, and traces of ordinary size: some ten milliseconds each. */
  quick: { name: 'reads of executions', capacity: 12, perKey: 4, waitingPerKey: 64, waitingMax: 256 },
  /** Lists that look into spans, filter by a tree or count. Each is up to four queries at a time, of the six that the embedded engine runs. */
  searches: { name: 'searches of executions', capacity: 3, perKey: 1, waitingPerKey: 16, waitingMax: 64 },
  /** Traces and parts that are read in threads, of which there are two. */
  large: { name: 'reads of large executions', capacity: 2, perKey: 1, waitingPerKey: 8, waitingMax: 32 },
  /** Answers that are being sent: what clients that read slowly make us hold. */
  answers: { name: 'large answers', capacity: 192, perKey: 64, waitingPerKey: 2, waitingMax: 8 },
} as const satisfies Record<string, FairLaneOptions>;

/**
 * Reads of executions, shared by all workspaces of the process. One of them holds at most `perKey` places of a lane, whatever it asks,
 * so that the engine, the threads and the memory are there for the others; a client that leaves gives its place back at once.
 */
export class ReadLanes {
  readonly #quick: FairLane;
  readonly #searches: FairLane;
  readonly #large: FairLane;
  readonly #answers: FairLane;

  /** @param whyStuck see `FairLaneOptions` */
  constructor(whyStuck: () => Error | undefined = () => undefined) {
    const options = { waitMsMax: requestWaitMsMax, whyStuck };
    this.#quick = new FairLane({ ...lanes.quick, ...options });
    this.#searches = new FairLane({ ...lanes.searches, ...options });
    this.#large = new FairLane({ ...lanes.large, ...options });
    this.#answers = new FairLane({ ...lanes.answers, waitMsMax: requestWaitMsMax });
  }

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

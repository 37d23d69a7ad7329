import { FairLane } from '../../lib/fair-lane.ts';
import { type FairLaneOptions, requestWaitMsMax } from '../../lib/fair-lane-options.ts';

/**
 * The workspace that a read counts against, and a signal that aborts when the client has
 * disconnected or has received its answer.
 */
export interface Reader {
  workspaceId: string;
  signal: AbortSignal;
}

/** Limits of each lane, in reads. */
const lanes = {
  /**
   * Lists that filter by fields of executions only, and reads of normal traces: some 10 ms each.
   */
  quick: { name: 'reads of executions', capacity: 12, perKey: 4, waitingPerKey: 64, waitingMax: 256 },
  /**
   * Lists that search spans, filter by a tree or count. Each runs up to four queries at a time; the
   * embedded ClickHouse runs six at a time.
   */
  searches: { name: 'searches of executions', capacity: 3, perKey: 1, waitingPerKey: 16, waitingMax: 64 },
  /** Traces and span parts that are read in worker threads. There are two threads. */
  large: { name: 'reads of large executions', capacity: 2, perKey: 1, waitingPerKey: 8, waitingMax: 32 },
} as const satisfies Record<string, FairLaneOptions>;

/**
 * Lanes for reads of executions, shared by all workspaces of the process. One workspace holds at
 * most `perKey` places of a lane, so that ClickHouse, the threads and memory stay available to
 * others. A client that disconnects frees its place immediately.
 */
export class ReadLanes {
  readonly #quick: FairLane;
  readonly #searches: FairLane;
  readonly #large: FairLane;

  /** @param whyStuck See `FairLaneOptions`. */
  constructor(whyStuck: () => Error | undefined = () => undefined) {
    const options = { waitMsMax: requestWaitMsMax, whyStuck };
    this.#quick = new FairLane({ ...lanes.quick, ...options });
    this.#searches = new FairLane({ ...lanes.searches, ...options });
    this.#large = new FairLane({ ...lanes.large, ...options });
  }

  /**
   * Runs `work` in the lane for quick reads.
   * @throws RateLimitedError or UnavailableError when the lane refuses the work
   * @throws the reason of the reader's signal, and what `work` throws
   */
  quick<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    return this.#quick.run(reader.workspaceId, work, { waiter: reader });
  }

  /** Runs `work` in the lane for searches; throws as {@link ReadLanes.quick} does. */
  search<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    return this.#searches.run(reader.workspaceId, work, { waiter: reader });
  }

  /** Runs `work` in the lane for large reads; throws as {@link ReadLanes.quick} does. */
  large<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    return this.#large.run(reader.workspaceId, work, { waiter: reader });
  }
}

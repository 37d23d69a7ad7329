import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { requestWaitMsMax, type Waiter } from '../lib/fair-lane-options.ts';
import { LaneCompany } from '../lib/lane-keys.ts';
import { type Rest, sharedThird } from '../lib/pace.ts';
import type { Contract, LaneName, RateClass } from './contract.ts';
import { LargeReads } from './large-reads.ts';

/**
 * The lane per rate class, unless the contract names one. Ingestion has its own limits
 * (`Admission`), webhooks are limited per provider, and requests without a rate limit are answered
 * from memory.
 */
const laneOfClass: Readonly<Record<RateClass, LaneName>> = {
  read: 'records',
  write: 'records',
  render: 'renders',
  analytics: 'analysis',
  ingest: 'none',
  webhook: 'none',
  none: 'none',
};

/**
 * Returns why the handlers of a lane cannot make progress now, such as an unavailable dependency;
 * undefined while they can.
 */
export type WhyStuck = (lane: LaneName) => Error | undefined;

/** A large answer that is being sent. */
export interface HeldAnswer {
  /** Tells whether other answers wait because there is no room for any more. */
  isWaitedFor: () => boolean;
  /**
   * The pause before each slice of an answer that no rate limits: without it, some connections that read such
   * answers again and again would take the event loop from all others.
   */
  rest?: Rest;
}

/** All callers share it, because one without a credential may have many addresses: a workspace waits for one of them. */
const restOfOpen = sharedThird('callers without a rate');

/** Rate classes whose requests have no effect, so that their large answers can be refused. */
const refusable: ReadonlySet<RateClass> = new Set(['read', 'render', 'analytics', 'none']);

/** Rate classes with answers of many kilobytes that each client has for itself. */
const answering: ReadonlySet<RateClass> = new Set(['read', 'write', 'render', 'analytics']);

const waiting = { waitingPerKey: 64, waitingMax: 512, waitMsMax: requestWaitMsMax };
/**
 * Running reads of one workspace while others use the lane. As many reads as there are processors
 * keep ClickHouse busy, so a workspace that requests more leaves half of that to the others.
 */
const perBusyKey = Math.max(1, Math.floor(availableParallelism() / 2));
/**
 * A request takes one more place for each such amount of body bytes: a body of 1 MiB takes 10 ms of
 * the event loop, a small one a third of a millisecond.
 */
const bytesPerPlace = 64 * 1024;
/** Answers of fewer bytes are not counted, because sockets buffer about as much. */
const countedAnswerBytesMin = 256 * 1024;
const mebibyte = 1024 * 1024;
/** While the answers that cannot be refused are more, clients that read slowly are disconnected sooner. */
const unreadMebibytesMax = 192;
/** Handlers of larger bodies share a third of the event loop with other large work. */
const pacedBytesMin = 256 * 1024;

/**
 * Lanes for requests whose handlers use Postgres, which has sixteen connections for them. All
 * workspaces share them, and callers without one by address; waiting requests are served in turn.
 * In each lane a workspace holds at most half the connections. It may have more renders in
 * progress, because renders mostly wait for threads: prompts are cached, and an uncached one takes
 * two short reads. It has one request with a body of 1 MiB in progress at a time, so that others
 * run in between.
 */
export class RequestLanes {
  readonly #records: FairLane;
  readonly #lanes: Readonly<Record<LaneName, FairLane | undefined>>;
  readonly #whyStuck: WhyStuck;
  /**
   * Shared in the same way. A body holds its place while its parse rests, so several sharers have one each;
   * `sharedThird` takes their steps in turn.
   */
  readonly #largeBodies = new FairLane({ name: 'large request bodies', capacity: 4, perKey: 1, ...waiting });
  /** Mebibytes of large answers that are being sent. They limit the memory that slow clients keep in use. */
  readonly #answers = new FairLane({
    ...{ name: 'large responses', capacity: 192, perKey: 32 },
    // Each that waits is in memory as well, with up to 8 MiB.
    ...{ waitingPerKey: 6, waitingMax: 32, waitMsMax: requestWaitMsMax },
  });
  /**
   * The same of answers that are not refused: those to writes, and smaller ones whose client does not read them at once.
   * The next request of a workspace is, while so many of its own answers are unread.
   */
  readonly #unread = new FairLane({
    ...{ name: 'responses that it does not read', capacity: Number.POSITIVE_INFINITY, perKey: 32 },
    ...{ waitingPerKey: 0, waitingMax: 0 },
  });
  /** The same as `#answers` of callers without credentials, who are counted by address. They cannot take all connections. */
  readonly #openAnswers = new FairLane({
    ...{ name: 'large responses', capacity: 96, perKey: 24 },
    ...{ waitingPerKey: 16, waitingMax: 64, waitMsMax: requestWaitMsMax },
  });

  readonly #company = new LaneCompany();
  /** The rates of large answers: of what is read, and of what is rendered or written. */
  readonly #largeAnswers = { reads: new LargeReads(this.#company), others: new LargeReads(this.#company) };

  constructor(whyStuck: WhyStuck = () => undefined) {
    const options = (lane: LaneName) => ({ ...waiting, whyStuck: () => whyStuck(lane) });
    this.#whyStuck = whyStuck;
    this.#records = new FairLane({ name: 'requests', capacity: 24, perKey: 5, ...options('records') });
    this.#lanes = {
      records: this.#records,
      renders: new FairLane({ name: 'renders', capacity: 48, perKey: 12, ...options('renders') }),
      analysis: new FairLane({
        ...{ name: 'reads of executions', capacity: 24, perKey: 4, perBusyKey },
        ...options('analysis'),
      }),
      // Filters that no index serves read everything that a project has.
      lists: new FairLane({ name: 'lists', capacity: 6, perKey: 2, ...options('lists') }),
      none: undefined,
    };
  }

  /**
   * Runs a handler in its turn.
   * @throws RateLimitedError `workspace_busy`
   * @throws UnavailableError `server_busy`
   * @throws what `whyStuck` returns, and what the handler throws
   */
  async run<T>(
    contract: Pick<Contract, 'lane' | 'rateClass' | 'operationId'>,
    request: { sharer: string; waiter: Waiter; bodyBytes: number },
    handle: () => Promise<T>,
  ): Promise<T> {
    // Those that have no rate, such as checks of health, delay nobody.
    if (contract.rateClass !== 'none') this.#company.note(request.sharer);
    return this.#largeAnswersOf(contract).run(contract, request, () => this.#runInLane(contract, request, handle));
  }

  /** Counts an answer of so many bytes for the rate of large ones. */
  countAnswer(contract: Pick<Contract, 'rateClass' | 'operationId'>, sharer: string, bytes: number): void {
    this.#largeAnswersOf(contract).count(contract, sharer, bytes);
  }

  #largeAnswersOf({ rateClass }: Pick<Contract, 'rateClass'>): LargeReads {
    const { reads, others } = this.#largeAnswers;
    return rateClass === 'read' || rateClass === 'analytics' ? reads : others;
  }

  async #runInLane<T>(
    { lane, rateClass }: Pick<Contract, 'lane' | 'rateClass'>,
    { sharer, waiter, bodyBytes }: { sharer: string; waiter: Waiter; bodyBytes: number },
    handle: () => Promise<T>,
  ): Promise<T> {
    const name = lane ?? laneOfClass[rateClass];
    const fairLane = this.#lanes[name];
    if (fairLane === undefined) return handle();
    // Many reads of records and prompts are answered from memory, so only `analysis` is refused
    // early.
    const stuck = name === 'analysis' ? this.#whyStuck(name) : undefined;
    if (stuck !== undefined) throw stuck;
    const cost = 1 + Math.floor(bodyBytes / bytesPerPlace);
    const rest = bodyBytes < pacedBytesMin ? nextTurn : sharedThird(sharer);
    return fairLane.run(sharer, cost === 1 ? handle : () => rest().then(handle), { cost, waiter });
  }

  /**
   * Parses a body that is large or has very many values in its turn. Other work runs between the steps. Throws
   * as {@link run}.
   */
  async runParse<T>(sharer: string, parse: () => Promise<T>): Promise<T> {
    return this.#largeBodies.run(sharer, () => sharedThird(sharer)().then(parse));
  }

  /**
   * Refuses a request while the sharer leaves too many answers to earlier ones unread. Spans are accepted all the same:
   * their answers are small. So are those of requests without a rate limit, or all clients have the same.
   * @throws RateLimitedError `workspace_busy`
   */
  requireAnswersRead({ rateClass }: Pick<Contract, 'rateClass'>, sharer: string): void {
    if (answering.has(rateClass)) this.#unread.assertRoom(sharer);
  }

  /** Counts an answer that is too small for {@link holdAnswer}, until the returned function is called. */
  noteUnread(sharer: string, bytes: number): () => void {
    return this.#unread.take(sharer, bytes / mebibyte);
  }

  /**
   * Counts a large answer as held until the client has received it or has disconnected. Throws as
   * {@link run} does, unless the answer tells of an effect that is stored.
   * The signal of `waiter` aborts when the response is closed.
   */
  async holdAnswer(
    { rateClass }: Pick<Contract, 'rateClass'>,
    { sharer, waiter, bytes }: { sharer: string; waiter: Waiter; bytes: number },
  ): Promise<HeldAnswer> {
    if (bytes < countedAnswerBytesMin) return { isWaitedFor: () => false };
    const cost = bytes / mebibyte;
    const lane = rateClass === 'none' ? this.#openAnswers : this.#answers;
    const isRefusable = refusable.has(rateClass);
    const leave = isRefusable ? await lane.enter(sharer, { cost, waiter }) : this.#unread.take(sharer, cost);
    waiter.signal.addEventListener('abort', leave, { once: true });
    if (waiter.signal.aborted) leave();
    return {
      isWaitedFor: isRefusable ? () => lane.isFull : () => this.#unread.held > unreadMebibytesMax,
      ...(rateClass === 'none' && { rest: restOfOpen }),
    };
  }

  /** Runs one short piece of work for a request whose handler is in no lane. */
  async runRecord<T>(sharer: string, work: () => Promise<T>): Promise<T> {
    return this.#records.run(sharer, work);
  }
}

import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane, requestWaitMsMax, type Waiter } from '../lib/fair-lane.ts';
import { sharedThird } from '../lib/pace.ts';
import type { Contract, LaneName, RateClass } from './contract.ts';

/**
 * By rate class, unless the contract names another. Ingestion has places of its own (`Admission`), webhooks are bounded by provider,
 * and what has no limit answers from memory.
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

/** Why the handlers of a lane can do nothing now, such as an engine that is away. */
export type WhyStuck = (lane: LaneName) => Error | undefined;

const waiting = { waitingPerKey: 64, waitingMax: 512, waitMsMax: requestWaitMsMax };
/** Of reads that wait on the engine, which is kept busy by as many as there are processors: a workspace that asks for more leaves half of it. */
const perBusyKey = Math.max(1, Math.floor(availableParallelism() / 2));
/** A request takes one place more for each of these that its body has: a mebibyte is 10 ms of the event loop, a small one a third of one. */
const bytesPerPlace = 64 * 1024;
/** What is done with a larger body shares the third of the event loop that is for large work. */
const pacedBytesMin = 256 * 1024;

/**
 * The places of requests whose handlers use Postgres, which has ten connections for them. Shared by all workspaces (and by callers
 * without one, by their address), and who waits is served in turn: one holds at most half the connections in each lane. Of renders it
 * may have more under way, since they mostly wait for threads: their prompts are remembered, and one that is not takes two short reads.
 * Of requests with a mebibyte of body it has one under way, so that others have their turn in between.
 */
export class RequestLanes {
  readonly #records: FairLane;
  readonly #lanes: Readonly<Record<LaneName, FairLane | undefined>>;
  readonly #whyStuck: WhyStuck;
  /** Shared in the same way: one large body is parsed at a time. */
  readonly #largeBodies = new FairLane({ name: 'large request bodies', capacity: 1, perKey: 1, ...waiting });

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
      none: undefined,
    };
  }

  /** Runs a handler in its turn. Throws RateLimitedError `workspace_busy`, UnavailableError `server_busy`, why it is stuck, and what it throws. */
  async run<T>(
    { lane, rateClass }: Pick<Contract, 'lane' | 'rateClass'>,
    { sharer, waiter, bodyBytes }: { sharer: string; waiter: Waiter; bodyBytes: number },
    handle: () => Promise<T>,
  ): Promise<T> {
    const name = lane ?? laneOfClass[rateClass];
    const fairLane = this.#lanes[name];
    if (fairLane === undefined) return handle();
    // Of records and prompts many are answered from memory.
    const stuck = name === 'analysis' ? this.#whyStuck(name) : undefined;
    if (stuck !== undefined) throw stuck;
    const cost = 1 + Math.floor(bodyBytes / bytesPerPlace);
    const rest = bodyBytes < pacedBytesMin ? nextTurn : sharedThird(sharer);
    return fairLane.run(sharer, cost === 1 ? handle : () => rest().then(handle), { cost, waiter });
  }

  /** Parses a large body in its turn, between which the event loop goes on. Throws as {@link run}. */
  async runParse<T>(sharer: string, parse: () => Promise<T>): Promise<T> {
    return this.#largeBodies.run(sharer, () => sharedThird(sharer)().then(parse));
  }

  /** For one short piece of work of a request whose handler has no place. */
  async runRecord<T>(sharer: string, work: () => Promise<T>): Promise<T> {
    return this.#records.run(sharer, work);
  }
}

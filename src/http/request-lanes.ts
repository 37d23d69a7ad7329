import { FairLane } from '../lib/fair-lane.ts';
import type { Contract, RateClass } from './contract.ts';

/** Where the handlers of a contract have their places; `none` for those that bound their work themselves. */
export type LaneName = 'records' | 'renders' | 'analysis' | 'none';

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

const waiting = { waitingPerKey: 64, waitingMax: 512 };

/**
 * The places of requests whose handlers use Postgres, which has ten connections for them. Shared by all workspaces (and by callers
 * without one, by their address): one holds at most half the connections in each lane, and who waits is served in turn.
 */
export class RequestLanes {
  readonly #records = new FairLane({ name: 'requests', capacity: 24, perKey: 5, ...waiting });
  readonly #lanes: Readonly<Record<LaneName, FairLane | undefined>> = {
    records: this.#records,
    renders: new FairLane({ name: 'renders', capacity: 24, perKey: 4, ...waiting }),
    analysis: new FairLane({ name: 'reads of executions', capacity: 24, perKey: 4, ...waiting }),
    none: undefined,
  };

  /** Runs a handler in its turn. Throws RateLimitedError `workspace_busy`, UnavailableError `server_busy`, and what it throws. */
  async run<T>(
    { lane, rateClass }: Pick<Contract, 'lane' | 'rateClass'>,
    { sharer, signal }: { sharer: string; signal: AbortSignal },
    handle: () => Promise<T>,
  ): Promise<T> {
    const fairLane = this.#lanes[lane ?? laneOfClass[rateClass]];
    return fairLane === undefined ? handle() : fairLane.run(sharer, handle, { signal });
  }

  /** For one short piece of work of a request whose handler has no place. */
  async runRecord<T>(sharer: string, work: () => Promise<T>): Promise<T> {
    return this.#records.run(sharer, work);
  }
}

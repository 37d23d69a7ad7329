import { RateLimitedError } from '../../lib/errors.ts';
import { FairLane, requestWaitMsMax } from '../../lib/fair-lane.ts';

const waitingPerAddressMax = 64;
/** After a key that does not exist its place rests so long: one address finds out about a hundred keys a second at most. */
const restMs = 10;

/**
 * Look-ups of API keys that this process does not know: well-formed ones cost nothing to invent, and each is a query. Shared by all
 * addresses: two at once of the connections for credentials, one of them for one address, in turn. Known keys do not come here.
 */
export class UnknownKeys<T> {
  readonly #lane = new FairLane({
    name: 'look-ups of unknown API keys',
    capacity: 2,
    perKey: 1,
    waitingPerKey: waitingPerAddressMax,
    waitingMax: 1_024,
    waitMsMax: requestWaitMsMax,
  });
  readonly #underWay = new Map<string, Promise<T | undefined>>();

  /**
   * What `look` finds, in its turn; requests with the same key wait for one look-up. Throws RateLimitedError when too many of one
   * address wait, UnavailableError when too many in all.
   */
  find(lookupId: string, address: string | undefined, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const underWay = this.#underWay.get(lookupId);
    if (underWay !== undefined) return underWay;
    const found = this.#look(address ?? '', look).finally(() => this.#underWay.delete(lookupId));
    this.#underWay.set(lookupId, found);
    return found;
  }

  async #look(address: string, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const leave = await this.#enter(address);
    let restsMs = 0;
    try {
      const found = await look();
      if (found === undefined) restsMs = restMs;
      return found;
    } finally {
      if (restsMs > 0) setTimeout(leave, restsMs).unref();
      else leave();
    }
  }

  async #enter(address: string): Promise<() => void> {
    try {
      return await this.#lane.enter(address);
    } catch (cause) {
      if (!(cause instanceof RateLimitedError)) throw cause;
      const detail = 'Too many API keys of this address wait to be looked up; try again in a moment.';
      throw new RateLimitedError('rate_limited', detail, { retryAfterS: 1, cause });
    }
  }
}

import { RateLimitedError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../lib/fair-lane-options.ts';

const waitingPerAddressMax = 64;
/**
 * Time for which the lane place of a missing key stays occupied. So one address can test at most
 * about a hundred keys per second.
 */
const restMs = 10;

/**
 * Looks up API keys that this process does not know. Well-formed keys are free to invent, and each
 * causes a query. All addresses share the lane fairly: two look-ups at a time on the credential
 * connections, at most one of them per address. Known keys bypass it.
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
   * Returns the result of `look`, in turn. Requests with the same key share one look-up.
   * @throws RateLimitedError when too many requests of one address wait
   * @throws UnavailableError when too many requests wait in total
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
      const detail = 'Too many unknown API keys from this address are waiting to be checked. Try again in a moment.';
      throw new RateLimitedError('rate_limited', detail, { retryAfterS: 1, cause });
    }
  }
}

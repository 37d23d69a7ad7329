import { RateLimitedError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../lib/fair-lane-options.ts';

/** So many sharers may fill their share of the waiting look-ups before others are refused. */
const fullSharersMax = 16;
/**
 * Time for which the lane place of a missing record stays occupied. So one sharer can test at most
 * about a hundred ids per second.
 */
const restMs = 10;

/**
 * Looks up records, such as API keys, that this process does not know. Well-formed ids are free to
 * invent, and each causes a query. All sharers, which are addresses or users, share the lane fairly:
 * two look-ups at a time on the credential connections, at most one of them per sharer. Known
 * records bypass it.
 */
export class UnknownRecords<T> {
  readonly #what: string;
  readonly #lane: FairLane;
  readonly #underWay = new Map<string, Promise<T | undefined>>();

  /**
   * @param what the records, in the plural: `API keys`
   * @param waitingPerSharer look-ups of one sharer that wait at most
   */
  constructor(what: string, waitingPerSharer: number) {
    this.#what = what;
    this.#lane = new FairLane({
      ...{ name: `look-ups of unknown ${what}`, capacity: 2, perKey: 1 },
      ...{ waitingPerKey: waitingPerSharer, waitingMax: fullSharersMax * waitingPerSharer },
      waitMsMax: requestWaitMsMax,
    });
  }

  /**
   * Returns the result of `look`, in turn. Requests of one sharer with the same id share one look-up. Those of
   * others do not, because they would wait behind what this sharer asked for before.
   * @throws RateLimitedError when too many requests of one sharer wait
   * @throws UnavailableError when too many requests wait in total
   */
  find(id: string, sharer = '', look: () => Promise<T | undefined>): Promise<T | undefined> {
    const asked = JSON.stringify([sharer, id]);
    const underWay = this.#underWay.get(asked);
    if (underWay !== undefined) return underWay;
    const found = this.#look(sharer, look).finally(() => this.#underWay.delete(asked));
    this.#underWay.set(asked, found);
    return found;
  }

  async #look(sharer: string, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const leave = await this.#enter(sharer);
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

  async #enter(sharer: string): Promise<() => void> {
    try {
      return await this.#lane.enter(sharer);
    } catch (cause) {
      if (!(cause instanceof RateLimitedError)) throw cause;
      const detail = `Too many unknown ${this.#what} are waiting to be checked. Try again in a moment.`;
      throw new RateLimitedError('rate_limited', detail, { retryAfterS: 1, cause });
    }
  }
}

import { RateLimitedError, UnauthenticatedError } from '../../lib/errors.ts';
import { LocalRates } from './local-rates.ts';

/**
 * Far above what many misconfigured clients send from one address, and far below what guessing keys
 * needs.
 */
const limit = 600;
const windowMs = 60_000;

/**
 * Loopback is not counted: a proxy on this machine forwards the requests of all clients, and the
 * operator runs it.
 */
const ownAddress = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Counts refused credentials per source address, in this process. Above the limit the answer is 429
 * instead of 401. Valid credentials always pass: many users may share an address, and no user may
 * lock them out.
 */
export class RefusedCredentials {
  readonly #rates: LocalRates;

  constructor(nowMs?: () => number) {
    this.#rates = new LocalRates(nowMs);
  }

  /**
   * Resolves as `authenticate` does.
   * @throws RateLimitedError instead of UnauthenticatedError above the limit
   */
  async count<T>(address: string | undefined, authenticate: () => Promise<T>): Promise<T> {
    try {
      return await authenticate();
    } catch (error) {
      if (error instanceof UnauthenticatedError && address !== undefined && !ownAddress.test(address)) {
        this.#check(address, error);
      }
      throw error;
    }
  }

  #check(address: string, cause: UnauthenticatedError): void {
    const check = { kind: 'rate' as const, name: 'refused_credentials', key: address, cost: 1, limit, windowMs };
    const { granted, results } = this.#rates.check([check]);
    if (granted) return;
    throw new RateLimitedError(
      'rate_limited',
      `This network sent more than ${limit} requests without valid credentials within ${windowMs / 1_000} s.`,
      { retryAfterS: (results[0]?.retryMs ?? windowMs) / 1_000, cause },
    );
  }
}

import { RateLimitedError, UnauthenticatedError } from '../../lib/errors.ts';
import { LocalRates } from './local-rates.ts';

/** Far above what a wrongly configured fleet sends from one address, far below what a search for keys needs. */
const limit = 600;
const windowMs = 60_000;

/** Proxies of this machine speak for everybody, and it is the operator's. */
const ownAddress = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Counts refused credentials by the address they come from, in this process. Beyond the limit the answer is 429 rather than 401. A
 * good credential always passes: many users may share an address, and nobody may lock them out.
 */
export class RefusedCredentials {
  readonly #rates: LocalRates;

  constructor(nowMs?: () => number) {
    this.#rates = new LocalRates(nowMs);
  }

  /** Resolves as `authenticate` does. Throws RateLimitedError instead of the UnauthenticatedError of one attempt too many. */
  async count<T>(address: string | undefined, authenticate: () => Promise<T>): Promise<T> {
    try {
      return await authenticate();
    } catch (error) {
      if (error instanceof UnauthenticatedError && address !== undefined && !ownAddress.test(address)) {
        this.#draw(address, error);
      }
      throw error;
    }
  }

  #draw(address: string, cause: UnauthenticatedError): void {
    const draw = { kind: 'rate' as const, name: 'refused_credentials', key: address, cost: 1, limit, windowMs };
    const { granted, results } = this.#rates.draw([draw]);
    if (granted) return;
    throw new RateLimitedError(
      'rate_limited',
      `More than ${limit} requests of this address had no valid credentials within ${windowMs / 1_000} s.`,
      { retryAfterS: (results[0]?.retryMs ?? windowMs) / 1_000, cause },
    );
  }
}

import { KeyObject } from 'node:crypto';
import { createRemoteJWKSet, customFetch, errors } from 'jose';
import { UnavailableError } from '../../../lib/errors.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { fetchBounded } from './fetch-bounded.ts';
import type { TokenHeader } from './token-header.ts';

const timeoutMs = 3_000;
/** Minimum time between two fetches for unknown key ids, however many there are. */
const cooldownMs = 30_000;
/** Keys older than this are fetched again in the background, so that a withdrawn key disappears. */
const refreshMs = 10 * 60_000;
/** Without any keys, attempts are 1, 2, 4 … 30 s apart. */
const firstRetryMs = 1_000;
/** RFC 7518, 3.3. */
const rsaBitsMin = 2_048;

/**
 * Holds the published keys of an identity provider (RFC 7517). jose fetches, parses and selects
 * them; this class decides when to fetch. Keys must remain usable during an outage, and many
 * unknown ids must neither cause many fetches nor block known keys.
 */
export class PublishedKeys {
  readonly #keySet: ReturnType<typeof createRemoteJWKSet>;
  readonly #logger: Logger;
  readonly #keys = new WeakMap<object, KeyObject>();
  #attemptedAtMs = Number.NEGATIVE_INFINITY;
  /** Whether any keys were ever fetched. */
  #held = false;
  #failures = 0;
  #fetching: Promise<void> | undefined;

  constructor(url: string, logger: Logger) {
    this.#logger = logger;
    // Switch off the timers of jose.
    const options = { cooldownDuration: Number.POSITIVE_INFINITY, cacheMaxAge: Number.POSITIVE_INFINITY };
    this.#keySet = createRemoteJWKSet(new URL(url), {
      ...options,
      timeoutDuration: timeoutMs,
      [customFetch]: fetchBounded,
    });
  }

  /**
   * Returns the key that signed, or undefined when it is not published.
   * @throws UnavailableError when the keys cannot be fetched
   */
  async find(header: TokenHeader): Promise<KeyObject | undefined> {
    if (!this.#held) await this.#fetchSoon();
    if (!this.#held) throw unavailable();
    if (this.#sinceAttemptMs() > refreshMs) void this.#fetch();
    const key = await this.#pick(header);
    if (key !== undefined) return key;
    await this.#fetchSoon();
    const published = await this.#pick(header);
    // The key may have been published since the last fetch, so the token may be valid.
    if (published === undefined && this.#failures > 0) throw unavailable();
    return published;
  }

  async #pick({ alg, kid }: TokenHeader): Promise<KeyObject | undefined> {
    try {
      const key = await this.#keySet({ alg, ...(kid !== undefined && { kid }) });
      const held = this.#keys.get(key) ?? KeyObject.from(key);
      this.#keys.set(key, held);
      return (held.asymmetricKeyDetails?.modulusLength ?? rsaBitsMin) < rsaBitsMin ? undefined : held;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  /** Fetches unless it is too early; then it does nothing. Never rejects. */
  async #fetchSoon(): Promise<void> {
    if (this.#fetching !== undefined || this.#sinceAttemptMs() >= this.#waitMs()) await this.#fetch();
  }

  #waitMs(): number {
    if (this.#held) return cooldownMs;
    return this.#failures === 0 ? 0 : Math.min(firstRetryMs * 2 ** (this.#failures - 1), cooldownMs);
  }

  #sinceAttemptMs(): number {
    return performance.now() - this.#attemptedAtMs;
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#reload().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #reload(): Promise<void> {
    this.#attemptedAtMs = performance.now();
    try {
      await this.#keySet.reload();
      this.#held = true;
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      this.#logger.warn({ err: error, failures: this.#failures }, 'the key set could not be fetched');
    }
  }
}

function unavailable(): UnavailableError {
  return new UnavailableError(
    'identity_unavailable',
    'The keys of the identity provider cannot be fetched at the moment.',
    {
      retryAfterS: 1,
    },
  );
}

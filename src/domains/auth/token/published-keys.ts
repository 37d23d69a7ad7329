import { KeyObject } from 'node:crypto';
import { createRemoteJWKSet, customFetch, errors } from 'jose';
import { UnavailableError } from '../../../lib/errors.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { fetchBounded } from './fetch-bounded.ts';
import type { TokenHeader } from './token-header.ts';

const timeoutMs = 3_000;
/** Between two fetches that unknown key ids cause, however many there are. */
const cooldownMs = 30_000;
/** Keys older than this are fetched again beside the requests, so that a withdrawn key goes. */
const refreshMs = 10 * 60_000;
/** Without any keys, tries are 1, 2, 4 … 30 s apart. */
const firstRetryMs = 1_000;
/** RFC 7518, 3.3. */
const rsaBitsMin = 2_048;

/**
 * The keys an identity provider publishes (RFC 7517). jose fetches, parses and picks; when to fetch is decided here, because keys that
 * are held must outlive an outage and a flood of unknown ids must neither cause fetches nor keep known keys from being used.
 */
export class PublishedKeys {
  readonly #keySet: ReturnType<typeof createRemoteJWKSet>;
  readonly #logger: Logger;
  readonly #keys = new WeakMap<object, KeyObject>();
  #attemptedAtMs = Number.NEGATIVE_INFINITY;
  /** Whether there are keys, from whenever. */
  #held = false;
  #failures = 0;
  #fetching: Promise<void> | undefined;

  constructor(url: string, logger: Logger) {
    this.#logger = logger;
    // Its own clocks are switched off.
    const options = { cooldownDuration: Number.POSITIVE_INFINITY, cacheMaxAge: Number.POSITIVE_INFINITY };
    this.#keySet = createRemoteJWKSet(new URL(url), {
      ...options,
      timeoutDuration: timeoutMs,
      [customFetch]: fetchBounded,
    });
  }

  /** The key that signed, or undefined when none is published. Throws UnavailableError while that cannot be found out. */
  async find(header: TokenHeader): Promise<KeyObject | undefined> {
    if (!this.#held) await this.#fetchSoon();
    if (!this.#held) throw unavailable();
    if (this.#sinceAttemptMs() > refreshMs) void this.#fetch();
    const key = await this.#pick(header);
    if (key !== undefined) return key;
    await this.#fetchSoon();
    const published = await this.#pick(header);
    // Perhaps it was published since; the caller may hold a good token.
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

  /** Fetches unless it is too early, in which case nothing happens. Never rejects. */
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
    'The keys of the identity provider cannot be fetched right now.',
    {
      retryAfterS: 1,
    },
  );
}

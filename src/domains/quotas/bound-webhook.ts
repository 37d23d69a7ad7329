import type { Headers } from '../../http/endpoint.ts';
import { webhookRateKey } from '../../stores/redis/names.ts';
import { applyOutcome } from './admit-request.ts';
import { rateWindowMs } from './checks-of.ts';
import type { RateCheck } from './limit-check.ts';
import type { Limiter } from './limiter.ts';
import { rateHeaders, untouched } from './rate-headers.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

/**
 * Per provider and minute. It allows an import of thousands of users; a provider that exceeds it
 * sends again later.
 */
const limit = 6_000;

export interface BoundWebhookDeps {
  limiter: Limiter;
  refusedCredentials: RefusedCredentials;
}

export interface WebhookSource {
  provider: string;
  address: string | undefined;
  setHeaders: (headers: Headers) => void;
}

/**
 * Receives a webhook within the limits of its source. A request without a valid signature counts
 * for its address, a valid one for its provider, so that a stranger cannot use up the provider's
 * limit. `receive` calls `admit` after verification. If Redis is unavailable, the limits of this
 * process apply.
 * @throws RateLimitedError, and any error of `receive`
 */
export async function boundWebhook<T>(
  { limiter, refusedCredentials }: BoundWebhookDeps,
  { provider, address, setHeaders }: WebhookSource,
  receive: (admit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  // This is not a limit of a workspace, so the key contains none.
  const key = webhookRateKey(provider);
  const checks: RateCheck[] = [{ kind: 'rate', name: 'webhook', key, cost: 1, limit, windowMs: rateWindowMs }];
  setHeaders(rateHeaders(checks, untouched(checks)));
  const admit = async () => applyOutcome(await limiter.checkOpen(checks), checks, setHeaders);
  return refusedCredentials.count(address, () => receive(admit));
}

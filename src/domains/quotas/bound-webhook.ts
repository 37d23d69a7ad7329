import type { Headers } from '../../http/endpoint.ts';
import { settleOutcome } from './admit-request.ts';
import type { RateDraw } from './draw.ts';
import { rateWindowMs } from './draws-of.ts';
import type { Limiter } from './limiter.ts';
import { rateHeaders, untouched } from './rate-headers.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

/** Per provider and minute: an import of thousands of users passes, and who goes on beyond it sends again later. */
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
 * Receives a webhook within the limits of its source: what has no valid signature is counted by its address, what has one by its
 * provider, so that a stranger cannot use up what the provider is granted. `receive` calls `admit` once the signature is verified.
 * Fails open to the limits of this process. Throws RateLimitedError, and what `receive` throws.
 */
export async function boundWebhook<T>(
  { limiter, refusedCredentials }: BoundWebhookDeps,
  { provider, address, setHeaders }: WebhookSource,
  receive: (admit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  // No workspace's limit, so its key names none.
  const key = `promptlane:rate:webhook:${provider}`;
  const draws: RateDraw[] = [{ kind: 'rate', name: 'webhook', key, cost: 1, limit, windowMs: rateWindowMs }];
  setHeaders(rateHeaders(draws, untouched(draws)));
  const admit = async () => settleOutcome(await limiter.drawOpen(draws), draws, setHeaders);
  return refusedCredentials.count(address, () => receive(admit));
}

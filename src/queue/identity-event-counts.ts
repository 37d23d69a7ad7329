import type { Redis } from 'ioredis';
import type { IdentityProviderName } from './identity-event.ts';

/** What became of events: queued before, of a kind that changes nothing; told something new, something old, could not be applied. */
export const identityOutcomes = ['duplicate', 'ignored', 'applied', 'outdated', 'failed'] as const;
export type CountedOutcome = (typeof identityOutcomes)[number];

/** One hash for all processes. No tenant's data, so the key has no tenant. */
const key = 'promptlane:identity-event-counts';

/** Counts one event. Throws what Redis throws. */
export async function countIdentityEvent(
  redis: Redis,
  provider: IdentityProviderName,
  outcome: CountedOutcome,
): Promise<void> {
  await redis.hincrby(key, `${provider} ${outcome}`, 1);
}

/** Since Redis was new. Throws what Redis throws. */
export async function readIdentityEventCounts(
  redis: Redis,
): Promise<{ provider: string; outcome: string; count: number }[]> {
  const counts = await redis.hgetall(key);
  return Object.entries(counts).map(([field, count]) => {
    const [provider = '', outcome = ''] = field.split(' ');
    return { provider, outcome, count: Number(count) };
  });
}

import type { Redis } from '../stores/redis/client.ts';
import { countsKeys } from '../stores/redis/names.ts';
import type { KeptCounts } from '../telemetry/metrics.ts';
import type { IdentityProviderName } from './identity-event.ts';

/**
 * The outcome of an event: `duplicate` was queued before, `ignored` has a type that changes
 * nothing, `applied` brought newer data, `outdated` brought older data, `failed` could not be
 * applied.
 */
export type CountedOutcome = 'duplicate' | 'ignored' | 'applied' | 'outdated' | 'failed';

/**
 * Counts one event.
 * @throws the error of Redis
 */
export async function countIdentityEvent(
  redis: Redis,
  provider: IdentityProviderName,
  outcome: CountedOutcome,
): Promise<void> {
  await redis.hincrby(countsKeys.identityEvents, `${provider} ${outcome}`, 1);
}

/** Returns the Prometheus counters of all processes since the Redis data set was created. */
export function identityEventCounts(redis: Redis): KeptCounts<'provider' | 'outcome'> {
  return {
    name: 'identity_events_total',
    help: 'Events of identity providers by outcome, counted over all processes',
    labels: ['provider', 'outcome'],
    async read() {
      const counts = await redis.hgetall(countsKeys.identityEvents);
      return Object.entries(counts).map(([field, count]) => {
        const [provider = '', outcome = ''] = field.split(' ');
        return { provider, outcome, count: Number(count) };
      });
    },
  };
}

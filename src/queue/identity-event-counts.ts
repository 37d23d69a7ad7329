import type { Redis } from 'ioredis';
import type { KeptCounts } from '../telemetry/metrics.ts';
import type { IdentityProviderName } from './identity-event.ts';

/** What became of events: queued before, of a kind that changes nothing; told something new, something old, could not be applied. */
export type CountedOutcome = 'duplicate' | 'ignored' | 'applied' | 'outdated' | 'failed';

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

/** What all processes have counted since Redis was new, for Prometheus. */
export function identityEventCounts(redis: Redis): KeptCounts<'provider' | 'outcome'> {
  return {
    name: 'identity_events_total',
    help: 'Events of identity providers by what became of them, counted by all processes together',
    labels: ['provider', 'outcome'],
    async read() {
      const counts = await redis.hgetall(key);
      return Object.entries(counts).map(([field, count]) => {
        const [provider = '', outcome = ''] = field.split(' ');
        return { provider, outcome, count: Number(count) };
      });
    },
  };
}

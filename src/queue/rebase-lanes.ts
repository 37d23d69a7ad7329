import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { createScript } from '../stores/redis/script.ts';
import { laneBaseKey } from './store-body-script.ts';

/** Far below the 24 days that priorities reach to, and seldom enough. */
const baseAgeMaxS = 86_400;

const script = createScript(`
local base = redis.call('GET', KEYS[1])
local now = tonumber(redis.call('TIME')[1])
if not base or now - tonumber(base) < tonumber(ARGV[1]) then return 0 end
for at = 2, #KEYS do
  if redis.call('EXISTS', KEYS[at]) == 1 then return 0 end
end
redis.call('SET', KEYS[1], now)
return 1`);

/**
 * Begins the time of the lanes anew when it is older than a day and no lane holds anything, so that priorities stay small. Who
 * publishes learns of it by the next answer. Throws what Redis throws.
 */
export async function rebaseLanes(redis: Redis, lanes: readonly Queue[]): Promise<void> {
  const states = ['wait', 'prioritized', 'delayed', 'active', 'paused'];
  const keys = lanes.flatMap((lane) => states.map((state) => lane.toKey(state)));
  await script.run(redis, [laneBaseKey, ...keys], [baseAgeMaxS]);
}

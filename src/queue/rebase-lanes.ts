import type { Queue } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { laneBaseKey } from '../stores/redis/names.ts';
import { createScript } from '../stores/redis/script.ts';

/** Far below the 24 days that priorities can express, and rare enough. */
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
 * Resets the base time of the lanes when it is older than a day and all lanes are empty, so that
 * priorities stay small. Publishers learn the new base from their next answer.
 * @throws the error of Redis
 */
export async function rebaseLanes(redis: Redis, lanes: readonly Queue[]): Promise<void> {
  const states = ['wait', 'prioritized', 'delayed', 'active', 'paused'];
  const keys = lanes.flatMap((lane) => states.map((state) => lane.toKey(state)));
  await script.run(redis, [laneBaseKey, ...keys], [baseAgeMaxS]);
}

import type { Queue } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { laneBaseKey } from '../stores/redis/names.ts';
import { createScript } from '../stores/redis/script.ts';
import { scorePerPriority } from './unfinished-receipt.ts';

/** Far below the 24 days that priorities can express, and rare enough. */
const baseAgeMaxS = 86_400;
/** Redis changes so many in some 10 ms. Of a base that is n days old, it changes n times as many. */
const jobsMax = 5_000;

/** Queued jobs keep their order. One in progress keeps its priority for a retry. */
const script = createScript(`
local base = tonumber(redis.call('GET', KEYS[1]) or '')
local now = tonumber(redis.call('TIME')[1])
local ageMax, jobsMax, scorePerPriority = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if not base or now - base < ageMax then return 0 end
local by, jobs, ids = now - base, 0, {}
for at = 2, #KEYS do
  local isSorted = redis.call('TYPE', KEYS[at]).ok == 'zset'
  jobs = jobs + redis.call(isSorted and 'ZCARD' or 'LLEN', KEYS[at])
  if jobs > jobsMax * (now - base) / ageMax then return 0 end
  ids[at] = redis.call(isSorted and 'ZRANGE' or 'LRANGE', KEYS[at], 0, -1)
  local first = KEYS[at]:match(':prioritized$') and redis.call('ZRANGE', KEYS[at], 0, 0, 'WITHSCORES')[2]
  if first then by = math.min(by, math.floor(tonumber(first) / scorePerPriority) - 1) end
end
if by <= 0 then return 0 end
for at = 2, #KEYS do
  local prefix, state = KEYS[at]:match('^(.*:)(%a+)$')
  for _, id in ipairs(ids[at]) do
    local priority = tonumber(redis.call('HGET', prefix .. id, 'priority') or '')
    if priority and priority > 0 then redis.call('HSET', prefix .. id, 'priority', math.max(1, priority - by)) end
    if state == 'prioritized' then redis.call('ZINCRBY', KEYS[at], -by * scorePerPriority, id) end
  end
end
redis.call('SET', KEYS[1], base + by)
return 1`);

/**
 * Moves the base time of the lanes when it is older than a day, and the priorities with it, so that they stay small: to
 * now, or to the turn of the next body that waits. It needs a moment with few jobs, but not an empty lane, which a busy
 * installation may not have for weeks. Publishers learn the new base from their next answer.
 * @throws the error of Redis
 */
export async function rebaseLanes(redis: Redis, lanes: readonly Queue[]): Promise<void> {
  const states = ['wait', 'prioritized', 'delayed', 'active', 'paused'];
  const keys = lanes.flatMap((lane) => states.map((state) => lane.toKey(state)));
  await script.run(redis, [laneBaseKey, ...keys], [baseAgeMaxS, jobsMax, scorePerPriority]);
}

import type { Redis } from '../stores/redis/client.ts';
import { createScript } from '../stores/redis/script.ts';
import type { BodyMeter } from './store-body-script.ts';

const script = createScript(`
local counters = tonumber(ARGV[1])
for i = counters + 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
local given = 0
for i = 1, counters do
  local units, slot = ARGV[i * 2], ARGV[i * 2 + 1]
  if redis.call('HEXISTS', KEYS[i], 'total') == 1 then
    redis.call('HINCRBY', KEYS[i], 'total', -units)
    if slot ~= '' then redis.call('HINCRBY', KEYS[i], slot, -units) end
    given = given + 1
  end
end
return given`);

/**
 * Gives back what was taken for a body whose job does not exist, because it could not be stored. If the job comes into
 * being later, settling the month counts its spans. Resolves to the number of counters that were given units back.
 * @throws the error of Redis
 */
export async function giveBackUnits(
  redis: Redis,
  jobKeys: readonly string[],
  meters: readonly BodyMeter[],
): Promise<number> {
  const taken = meters.filter((meter) => meter.taken);
  if (taken.length === 0) return 0;
  const keys = [...taken.map(({ key }) => key), ...jobKeys];
  return Number(await script.run(redis, keys, [taken.length, ...taken.flatMap(({ units, slot }) => [units, slot])]));
}

import type { Redis } from '../stores/redis/client.ts';
import { createScript } from '../stores/redis/script.ts';
import type { SpanMeter } from './store-body-script.ts';

const script = createScript(`
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
if redis.call('HEXISTS', KEYS[1], 'total') == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], 'total', -ARGV[1])
redis.call('HINCRBY', KEYS[1], ARGV[2], -ARGV[1])
return 1`);

/**
 * Gives back the spans that were taken for a body whose job does not exist, because it could not be stored. If the job
 * comes into being later, settling the month counts its spans. Resolves to whether they were given back.
 * @throws the error of Redis
 */
export async function giveBackSpans(redis: Redis, jobKeys: readonly string[], meter: SpanMeter): Promise<boolean> {
  return (await script.run(redis, [meter.key, ...jobKeys], [meter.spans, meter.slot])) === 1;
}

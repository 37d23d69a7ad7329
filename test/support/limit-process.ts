import { createInterface } from 'node:readline';
import { checkInRedis } from '../../src/domains/quotas/check-in-redis.ts';
import type { LimitCheck } from '../../src/domains/quotas/limit-check.ts';
import { connectWorkerRedis } from '../../src/stores/redis/client.ts';

/**
 * A process that reads the limits from its input, checks them many times at the same time, and prints the
 * number of granted checks.
 */
const [redisUrl = '', times = '0'] = process.argv.slice(2);
const redis = connectWorkerRedis(redisUrl);
await redis.ping();
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const checks: LimitCheck[] = JSON.parse(line);
  const outcomes = await Promise.all(Array.from({ length: Number(times) }, () => checkInRedis(redis, checks)));
  console.log(outcomes.filter(({ granted }) => granted).length);
  break;
}
redis.disconnect();

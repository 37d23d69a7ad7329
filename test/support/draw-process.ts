import { createInterface } from 'node:readline';
import type { Draw } from '../../src/domains/quotas/draw.ts';
import { drawInRedis } from '../../src/domains/quotas/draw-in-redis.ts';
import { connectWorkerRedis } from '../../src/stores/redis/client.ts';

/** A process that, once told on its input what to draw, does so many times at once, and prints how many were granted. */
const [redisUrl = '', times = '0'] = process.argv.slice(2);
const redis = connectWorkerRedis(redisUrl);
await redis.ping();
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const draws: Draw[] = JSON.parse(line);
  const outcomes = await Promise.all(Array.from({ length: Number(times) }, () => drawInRedis(redis, draws)));
  console.log(outcomes.filter(({ granted }) => granted).length);
  break;
}
redis.disconnect();

import { hostname } from 'node:os';
import { readConfig } from '../src/config.ts';
import { RedisClock } from '../src/queue/redis-clock.ts';
import { readWorkerFigures } from '../src/queue/worker-figures.ts';
import { connectRequestRedis } from '../src/stores/redis/client.ts';

/**
 * Container health check. The process exits with 0 when a worker on this host has reported within
 * the last five seconds, else with 1.
 */
const redis = connectRequestRedis(readConfig().redisUrl);
redis.on('error', () => undefined);
redis.once('ready', async () => {
  const clock = new RedisClock();
  await clock.look(redis).catch(() => undefined);
  const figures = await readWorkerFigures(redis, clock.nowMs()).catch(() => []);
  process.exit(figures.some(({ workerId }) => workerId.startsWith(`${hostname()}:`)) ? 0 : 1);
});
setTimeout(() => process.exit(1), 2_500);

import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { connectOptimizationQueue } from '../../src/queue/optimization-queue.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { ownRedisUrl } from '../support/own-redis.ts';

let redis: Redis;
beforeAll(() => {
  redis = connectWorkerRedis(ownRedisUrl(9));
});
afterAll(() => redis.disconnect());

test('jobs of runs that have begun come before those of runs that wait for their turn, which come by their place', async () => {
  const { add, queue } = connectOptimizationQueue(redis);
  const run = (place: number, attempt: number) => ({ projectId: 'prj', runId: newId('opt'), place, attempt });
  const [second, first, begun] = [run(2, 0), run(1, 0), run(2, 3)];
  await add([second, first, begun]);
  const jobs = await queue.getPrioritized();
  await queue.obliterate({ force: true });
  expect(jobs.map(({ data }) => data.runId)).toEqual([begun, first, second].map(({ runId }) => runId));
});

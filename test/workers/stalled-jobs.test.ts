import { randomUUID } from 'node:crypto';
import { type Job, type Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { queuePrefix } from '../../src/stores/redis/names.ts';
import { giveBackPlace, keepOrderOfStalled } from '../../workers/stalled-jobs.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { until } from '../support/until.ts';

describe('jobs that a dead worker left behind', () => {
  let redis: Redis;
  let queue: Queue;
  beforeAll(() => {
    redis = connectWorkerRedis(ownRedisUrl(9));
    queue = connectQueue(`stalled-${randomUUID()}`, redis);
  });
  afterAll(async () => {
    await queue.obliterate({ force: true });
    redis.disconnect();
  });

  const workerOf = (work: (job: Job) => Promise<unknown>, autorun: boolean) =>
    new Worker(queue.name, work, {
      connection: connectWorkerRedis(ownRedisUrl(9)),
      prefix: queuePrefix(queue.name),
      ...{ autorun, lockDuration: 1_000, stalledInterval: 50, maxStalledCount: 100, drainDelay: 1 },
    });

  test('wait in the places they had, behind those of a workspace whose turn is sooner', async () => {
    const dead = workerOf(async () => undefined, false);
    for (const id of ['busy-1', 'busy-2']) await queue.add('job', {}, { jobId: id, priority: 100 });
    for (let taken = 0; taken < 2; taken++) await dead.getNextJob('a token');
    await queue.add('job', {}, { jobId: 'other-1', priority: 50 });
    await queue.add('job', {}, { jobId: 'busy-3', priority: 200 });
    await redis.del(`${queue.toKey('busy-1')}:lock`, `${queue.toKey('busy-2')}:lock`);
    keepOrderOfStalled(dead, queue);
    await dead.startStalledCheckTimer();
    await until('they have their places', 5_000, async () => {
      const waiting = (await queue.getPrioritized()).map(({ id }) => id);
      return waiting.length === 4;
    });
    await dead.close();

    const order: (string | undefined)[] = [];
    const next = workerOf(async (job) => void order.push(job.id), true);
    await until('all are done', 10_000, () => order.length === 4);
    await next.close();
    // BullMQ keeps those that stall in a set, so two of one priority come in any order.
    expect([order[0], order.slice(1, 3).toSorted(), order[3]]).toEqual(['other-1', ['busy-1', 'busy-2'], 'busy-3']);
  });

  test('are left alone when they have begun again, or have no place', async () => {
    await queue.add('job', {}, { jobId: 'runs', priority: 7 });
    const worker = workerOf(async () => undefined, false);
    await worker.getNextJob('a token');
    await queue.add('job', {}, { jobId: 'plain' });
    for (const id of ['runs', 'plain', 'unknown']) await giveBackPlace(queue, id);
    const active = await queue.getActive();
    const waiting = await queue.getWaiting();
    await worker.close();
    expect([active, waiting].map((jobs) => jobs.map(({ id }) => id))).toEqual([['runs'], ['plain']]);
  });
});

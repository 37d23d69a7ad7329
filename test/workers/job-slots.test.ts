import { randomUUID } from 'node:crypto';
import { type Job, type Queue, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { queuePrefix } from '../../src/stores/redis/names.ts';
import { JobSlots } from '../../workers/job-slots.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { until } from '../support/until.ts';

const slotsMax = 10;
const perWorkspace = 9;

describe('a worker whose slots are taken', () => {
  let redis: Redis;
  let queue: Queue;
  let worker: Worker;
  let connection: Redis;
  /** Ids of the jobs that hold a slot, in the order in which they got it. */
  let begun: string[];
  let end: () => void;

  beforeEach(() => {
    redis = connectWorkerRedis(ownRedisUrl(9));
    connection = connectWorkerRedis(ownRedisUrl(9));
    queue = connectQueue(`slots-${randomUUID()}`, redis);
    const slots = new JobSlots(slotsMax, { waitMs: 50, restMs: 100 });
    begun = [];
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const work = async (job: Job) => {
      begun.push(String(job.id));
      await ended;
    };
    worker = new Worker(queue.name, (job, token = '') => slots.run(job, token, () => work(job)), {
      ...{ connection, prefix: queuePrefix(queue.name), concurrency: slots.jobsMax, drainDelay: 1 },
    });
  });
  afterEach(async () => {
    end();
    await worker.close();
    await queue.obliterate({ force: true });
    connection.disconnect();
    redis.disconnect();
  });

  const add = (workspaceId: string, count: number, priority: number) =>
    Promise.all(
      Array.from({ length: count }, (_, nth) =>
        queue.add('job', { workspaceId }, { jobId: `${workspaceId}-${nth}`, priority: priority + nth }),
      ),
    );

  test('by one workspace with a backlog still begins a body of another one', async () => {
    await add('busy', 40, 1_000);
    await until('it has all that it may have', 10_000, () => begun.length === perWorkspace);
    await add('other', 1, 1);
    await until('the other one has begun', 10_000, () => begun.includes('other-0'));
    expect(begun).toHaveLength(perWorkspace + 1);
  });

  test('by several still takes jobs, which keep their places and attempts when they go back', async () => {
    await add('busy', 20, 1_000);
    await until('it has all that it may have', 10_000, () => begun.length === perWorkspace);
    await add('second', 1, 1);
    await until('no slot is left', 10_000, () => begun.length === slotsMax);
    await add('third', 1, 1);
    await until('the third has been taken, and waits for a slot', 10_000, async () =>
      (await queue.getActive()).some(({ id }) => id === 'third-0'),
    );
    const gaveBack = await until(
      'one of the busy workspace has gone back',
      10_000,
      async () => (await queue.getDelayed())[0],
    );
    expect(gaveBack).toMatchObject({ attemptsMade: 0, data: { workspaceId: 'busy' } });
    expect(gaveBack.priority).toBeGreaterThanOrEqual(1_000);
    expect((await queue.getActive()).some(({ id }) => id === 'third-0')).toBe(true);
    end();
    await until('all are done', 20_000, async () => (await queue.getCompletedCount()) === 22);
    expect(begun.toSorted()).toEqual([...new Set(begun)].toSorted());
    const completed = await queue.getCompleted();
    expect(completed.map(({ attemptsMade, priority }) => [attemptsMade, priority > 0])).toEqual(
      completed.map(() => [1, true]),
    );
  });
});

import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connectRequestQueue } from '../../src/queue/connect-queue.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { queueConcern } from '../../src/queue/queue-health.ts';
import { RedisClock } from '../../src/queue/redis-clock.ts';
import { leaseSummaries, listForSummary } from '../../src/queue/summary-list.ts';
import { writeWorkerFigures } from '../../src/queue/worker-figures.ts';
import { connectRequestRedis, connectWorkerRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { queuePrefix, summaryKeys } from '../../src/stores/redis/names.ts';
import { ownRedisUrl } from '../support/own-redis.ts';

describe('the health of the way from a body to lists', () => {
  let redis: Redis;
  let isolation: ReturnType<typeof connectRequestQueue>;
  const clock = new RedisClock();
  beforeAll(async () => {
    // A database that no worker looks into.
    redis = connectRequestRedis(ownRedisUrl(8));
    await firstConnection(redis);
    isolation = connectRequestQueue(jobCatalog.isolateBody.queue, redis);
  });
  afterAll(async () => {
    await isolation.close();
    redis.disconnect();
  });
  beforeEach(async () => {
    await redis.flushdb();
    await clock.look(redis);
    const figures = { freshnessP95Ms: null, storedSpans: 0, busySinceMs: null };
    await writeWorkerFigures(redis, { workerId: 'host:1', atMs: clock.nowMs(), ...figures });
  });

  const concern = () => queueConcern({ redis, clock, queues: [isolation], refusal: () => undefined });

  test('while nothing waits: has no concern', async () => {
    expect(await concern()).toBeUndefined();
  });

  test('while a body waits to be tried alone: says so after 5 s', async () => {
    await isolation.add('isolateBody', {}, { timestamp: clock.nowMs() - 3_000 });
    expect(await concern()).toBeUndefined();
    await isolation.add('isolateBody', {}, { timestamp: clock.nowMs() - 9_000, lifo: true });
    expect(await concern()).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/stores spans late: a body has waited for (9|10) s/),
    });
  });

  test('while a worker stores a body and ends others: says after 7 s that it is late', async () => {
    await isolation.add('isolateBody', {}, { timestamp: clock.nowMs() - 5_500 });
    const worker = new Worker(isolation.name, undefined, {
      ...{ connection: connectWorkerRedis(ownRedisUrl(8)), prefix: queuePrefix(isolation.name), autorun: false },
    });
    onTestFinished(() => worker.close());
    const job = await worker.getNextJob('token');
    expect(await concern()).toBeUndefined();
    await redis.hset(isolation.toKey(String(job?.id)), 'timestamp', clock.nowMs() - 12_000);
    expect(await concern()).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/a body that was received 1[23] s ago is still being stored/),
    });
  });

  test('while a trace waits for its summary: says so after 15 s, also if the worker that had it is gone', async () => {
    const project = { workspaceId: `wsp_${randomUUID()}`, projectId: `prj_${randomUUID()}` };
    await listForSummary(redis, project, ['a']);
    expect(await concern()).toBeUndefined();
    const { due } = summaryKeys(project.projectId);
    await redis.zincrby(due, -20_000, 'a');
    const late = {
      status: 'degraded',
      reason: expect.stringMatching(/lists executions late: one has waited for 2[01] s/),
    };
    expect(await concern()).toMatchObject(late);
    await leaseSummaries(redis, project, 10);
    expect(await concern()).toBeUndefined();
    await redis.zincrby(due, -35_000, 'a');
    expect(await concern()).toMatchObject(late);
  });
});

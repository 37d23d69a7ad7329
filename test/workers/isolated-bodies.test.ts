import { randomBytes } from 'node:crypto';
import { type Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type IngestOrIsolateDeps, ingestOrIsolate } from '../../src/domains/ingestion/store/ingest-or-isolate.ts';
import { sweepBodies } from '../../src/domains/ingestion/store/sweep-bodies.ts';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { dropBody } from '../../src/queue/drop-body.ts';
import { connectRequestRedis, connectWorkerRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { backlogKey, bodyKey, queuePrefix } from '../../src/stores/redis/names.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { payloadOf } from '../support/quarantine.ts';

/** A database of Redis that only this file uses, so that no worker takes its bodies. */
const redisUrl = ownRedisUrl(3);
const body = Buffer.from('a body');
const hourMs = 3_600_000;

let requests: Redis;
let redis: Redis;
let publisher: BodyPublisher;
let queues: { ingest: readonly Queue[]; isolation: Queue };
let workers: { lane: Worker; isolation: Worker };

beforeAll(async () => {
  requests = connectRequestRedis(redisUrl);
  redis = connectWorkerRedis(redisUrl);
  await firstConnection(requests);
  const workerOf = ({ name }: Queue) => new Worker(name, null, { connection: redis, prefix: queuePrefix(name) });
  const first = createBodyPublisher(requests);
  workers = { lane: workerOf(first.queue), isolation: workerOf(first.isolation) };
  await first.close();
});
// A publisher remembers for a second which bodies are unfinished.
beforeEach(() => {
  publisher = createBodyPublisher(requests);
  queues = { ingest: publisher.queues, isolation: publisher.isolation };
  return () => publisher.close();
});
afterAll(async () => {
  await Promise.all([workers.lane.close(), workers.isolation.close()]);
  requests.disconnect();
  redis.disconnect();
});

type Published = Awaited<ReturnType<typeof publish>>;

async function publish() {
  const workspaceId = `wsp_${randomBytes(8).toString('hex')}`;
  const project = { id: `prj_${workspaceId}` } as Parameters<typeof payloadOf>[0];
  const payload = payloadOf(project, body, { workspaceId, receivedAtMs: Date.now() - 2_000 });
  const jobId = `b_${randomBytes(32).toString('hex')}`;
  await publisher.publish(jobId, body, payload, undefined);
  return { jobId, workspaceId, projectId: payload.projectId, payload };
}

type Removal = { age?: number; count: number };

/** Ends the next job as a worker that dies before it drops the body. `removal` is that of a job of an older version. */
async function endNext(
  worker: Worker,
  { result, removal }: { result: string | undefined; removal?: Removal | undefined },
) {
  const job = await worker.getNextJob('token');
  if (job === undefined) throw new Error('No job waits');
  if (removal !== undefined) job.opts.removeOnComplete = removal;
  await job.moveToCompleted(result, 'token', false);
}

async function isolate({ jobId, payload }: Published): Promise<void> {
  const deps = { isolation: queues.isolation } as IngestOrIsolateDeps; // Of a body that crashed workers nothing else is asked.
  const facts = { id: jobId, attemptsMade: 0, isRepeated: false, stalledCounter: 2, isOurs: async () => true };
  const result = await ingestOrIsolate(deps, facts, payload);
  await endNext(workers.lane, { result });
}

async function isolated(): Promise<Published> {
  const published = await publish();
  await isolate(published);
  return published;
}

const sweep = () => sweepBodies({ redis, ...queues });
const resend = ({ jobId, payload }: Published) => publisher.publish(jobId, body, payload, undefined);
const backlogOf = ({ workspaceId }: Published) => redis.hgetall(backlogKey(workspaceId));
/** Returns for how many hours, rounded up, the id of a body is still known. */
const lifeH = async ({ jobId }: Published) => Math.ceil((await redis.ttl(publisher.queue.toKey(jobId))) / 3_600);

/** BullMQ compares this time of the end with its clock, and nothing else. */
const letPass = (ms: number, { jobId }: Published) =>
  redis.zadd(publisher.queue.toKey('completed'), 'XX', Date.now() - ms, jobId);

/** With the end of another job, BullMQ removes the jobs that ended before. */
async function endAnother(removal?: Removal): Promise<void> {
  const another = await publish();
  await endNext(workers.lane, { result: 'stored', removal });
  await dropBody(redis, queues, another);
}

describe('a body that waits to be tried alone', () => {
  test.each<[string, (published: Published) => Promise<unknown>]>([
    [
      'for longer than a finished body is remembered, while no worker is there',
      async (published) => {
        await letPass(hourMs, published);
        await endAnother();
      },
    ],
    [
      'for longer than a backlog is kept',
      async (published) => {
        await sweep();
        await letPass(26 * hourMs, published);
        await endAnother();
      },
    ],
    [
      'while jobs of an older version end',
      async (published) => {
        await sweep();
        await letPass(hourMs, published);
        await endAnother({ age: 600, count: 20_000 });
      },
    ],
    [
      'while more other jobs end than are kept',
      async () => {
        await sweep();
        await endAnother({ count: 1 });
      },
    ],
  ])('%s, is known when it is sent again, and leaves no backlog', async (_circumstance, wait) => {
    const published = await isolated();
    const before = await backlogOf(published);
    await wait(published);
    expect(await resend(published)).toMatchObject({ duplicate: true });
    expect(await publisher.isKnown(published.jobId)).toBe(true);
    expect(await backlogOf(published)).toEqual(before);
    expect(await dropBody(redis, queues, published)).toBe(false);
    await endNext(workers.isolation, { result: undefined });
    expect(await dropBody(redis, queues, published)).toBe(true);
    expect(await backlogOf(published)).toEqual({});
    expect(await redis.exists(bodyKey(published.projectId, published.jobId))).toBe(0);
    expect(await lifeH(published)).toBe(1);
  });

  test('is what the data of its workspace is behind', async () => {
    const published = await isolated();
    expect(await publisher.oldestUnfinishedAtMs(published.workspaceId)).toBe(published.payload.receivedAtMs);
    await endNext(workers.isolation, { result: undefined });
    await sweep();
    expect(await publisher.oldestUnfinishedAtMs(published.workspaceId)).toBeUndefined();
  });

  test('and is replayed from the quarantine meanwhile is not queued a second time', async () => {
    const published = await isolated();
    await publisher.forget(published);
    expect(await resend(published)).toMatchObject({ duplicate: true });
    await endNext(workers.isolation, { result: undefined });
    await sweep();
    expect(await backlogOf(published)).toEqual({});
  });

  test('and is lost is known for a day at most, and for ten minutes from the end of its job', async () => {
    const published = await isolated();
    await sweep();
    expect(await lifeH(published)).toBe(25);
    await redis.del(bodyKey(published.projectId, published.jobId));
    await endNext(workers.isolation, { result: undefined });
    await dropBody(redis, queues, published);
    expect(await lifeH(published)).toBe(1);
  });
});

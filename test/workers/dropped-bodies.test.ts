import { randomBytes } from 'node:crypto';
import { Worker } from 'bullmq';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createStoring } from '../../src/domains/ingestion/jobs.ts';
import { refusalOf } from '../../src/domains/ingestion/receive/queue-refusal.ts';
import { ingestOrIsolate } from '../../src/domains/ingestion/store/ingest-or-isolate.ts';
import { sweepBodies } from '../../src/domains/ingestion/store/sweep-bodies.ts';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { type BodyQueues, dropBody } from '../../src/queue/drop-body.ts';
import { type IngestBodyPayload, jobCatalog } from '../../src/queue/job-catalog.ts';
import { createLateness } from '../../src/queue/lane-lateness.ts';
import { oldestOf, oldestWaitingAtMs } from '../../src/queue/queue-stats.ts';
import { examineUnfinished } from '../../src/queue/unfinished-receipt.ts';
import { connectRequestRedis, connectWorkerRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { backlogKey, bodyKey, laneBaseKey, queuePrefix } from '../../src/stores/redis/names.ts';
import { createLatencyRecorder } from '../../src/telemetry/latency.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { connectClients } from '../../workers/clients.ts';
import { testConfig } from '../support/api.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { until } from '../support/until.ts';

/** A database of Redis that only this file uses, so that no worker takes its bodies. */
const body = Buffer.from('a body');

let redisUrl: string;
let requests: Redis;
let redis: Redis;
let publisher: BodyPublisher;
let queues: BodyQueues;

beforeAll(async () => {
  redisUrl = ownRedisUrl(9);
  requests = connectRequestRedis(redisUrl);
  redis = connectWorkerRedis(redisUrl);
  await firstConnection(requests);
  publisher = createBodyPublisher(requests);
  queues = { ingest: publisher.queues, isolation: connectQueue(jobCatalog.isolateBody.queue, redis) };
});
afterAll(async () => {
  await publisher.close();
  requests.disconnect();
  redis.disconnect();
});

interface Published {
  jobId: string;
  projectId: string;
  payload: IngestBodyPayload;
}

type Size = Partial<Pick<IngestBodyPayload, 'inflatedBytes' | 'spans' | 'repeatedBytes'>>;

function payloadOf(workspaceId: string, size: Size): IngestBodyPayload {
  const facts = { retentionDays: 0, inflatedBytes: 100, spans: 1, ...size, receivedAtMs: Date.now() };
  return { v: 1, workspaceId, projectId: `prj_${workspaceId}`, encoding: 'json', coding: 'identity', ...facts };
}

async function publish(workspaceId: string, size: Size & { receivedAtMs?: number } = {}, by = publisher) {
  const payload = { ...payloadOf(workspaceId, size), ...size };
  const jobId = `b_${randomBytes(32).toString('hex')}`;
  await by.publish(jobId, body, payload, undefined);
  return { jobId, projectId: payload.projectId, payload };
}

const resend = ({ jobId, payload }: Published) => publisher.publish(jobId, body, payload, undefined);
const newWorkspace = () => `wsp_${randomBytes(8).toString('hex')}`;

/**
 * Ends all jobs that wait, as a worker that dies before it drops their bodies would; resolves with
 * their ids as they came.
 */
async function endAll(): Promise<string[]> {
  const ended: string[] = [];
  const workers = publisher.queues.map(({ name }) => {
    const connection = connectWorkerRedis(redisUrl);
    const worker = new Worker(name, async (job) => void ended.push(String(job.id)), {
      ...{ connection, prefix: queuePrefix(name), concurrency: 1 },
    });
    return { worker, connection };
  });
  await until('all jobs have ended', 20_000, async () => {
    const counts = await Promise.all(
      publisher.queues.map((queue) => queue.getJobCountByTypes('waiting', 'prioritized', 'active')),
    );
    return counts.every((count) => count === 0);
  });
  for (const { worker, connection } of workers) {
    await worker.close();
    connection.disconnect();
  }
  return ended;
}

/** As if the body had been stored long ago. */
const removeJob = (jobId: string) => Promise.all(publisher.queues.map((queue) => queue.remove(jobId)));
const hasBody = async ({ projectId, jobId }: Published) => (await redis.exists(bodyKey(projectId, jobId))) === 1;
const backlogOf = (workspaceId: string) => redis.hgetall(backlogKey(workspaceId));

describe('a body', () => {
  test.each([
    ['small', {}, 16 * 1024],
    ['of very many items', { spans: 10_000 }, 10_000 * 1024],
    ['large', { inflatedBytes: 1024 * 1024 }, 1024 * 1024],
    ['small, with rows that repeat much,', { repeatedBytes: 100_000_000 }, 100_000_000],
  ])(
    'that is %s counts for its workspace until it is dropped, once however often it is sent',
    async (_size, size, cost) => {
      const workspaceId = newWorkspace();
      const published = await publish(workspaceId, size);
      const before = await backlogOf(workspaceId);
      expect({ bytes: Number(before.bytes), cost }).toEqual(await publisher.backlogOf(workspaceId));
      expect(Object.values(before)).toContain(String(cost));
      expect(await resend(published)).toMatchObject({
        duplicate: true,
        backlog: { bytes: Number(before.bytes), cost },
      });
      expect(await dropBody(redis, queues, published)).toBe(false);
      await endAll();
      expect(await dropBody(redis, queues, published)).toBe(true);
      expect(await dropBody(redis, queues, published)).toBe(false);
      expect(await backlogOf(workspaceId)).toEqual({});
      expect(await hasBody(published)).toBe(false);
    },
  );

  test('that waits is what the data of its workspace is behind, and not that of another', async () => {
    const [busy, quiet] = [newWorkspace(), newWorkspace()];
    const first = await publish(busy, { inflatedBytes: 200 * 1024 * 1024 });
    const others = [await publish(busy), await publish(quiet)];
    expect(await publisher.oldestUnfinishedAtMs(busy)).toBe(first.payload.receivedAtMs);
    await endAll();
    for (const each of others) await dropBody(redis, queues, each);
    expect(await publisher.oldestUnfinishedAtMs(quiet)).toBeUndefined();
    await dropBody(redis, queues, first);
    expect(await publisher.oldestUnfinishedAtMs(busy)).toBeUndefined();
  });

  test('that waits is looked for once a second, for all workspaces that ask', async () => {
    const own = createBodyPublisher(requests);
    const workspaces = [newWorkspace(), newWorkspace()];
    const sent = await Promise.all(workspaces.map((workspaceId) => publish(workspaceId)));
    const ask = () => Promise.all(workspaces.map(own.oldestUnfinishedAtMs));
    const reads = vi.spyOn(requests, 'pipeline');
    const receipts = sent.map(({ payload }) => payload.receivedAtMs);
    expect(await Promise.all(Array.from({ length: 20 }, ask))).toEqual(Array(20).fill(receipts));
    expect(reads).toHaveBeenCalledTimes(1);
    reads.mockRestore();
    const late = await publish(newWorkspace());
    // What was looked for before it came says nothing of it.
    expect(await own.oldestUnfinishedAtMs(late.payload.workspaceId)).toBeLessThanOrEqual(late.payload.receivedAtMs);
    await own.close();
    await endAll();
    for (const each of [...sent, late]) await dropBody(redis, queues, each);
  });

  test('that waits is not forgotten, and one whose worker died after it is no more counted than once', async () => {
    const workspaceId = newWorkspace();
    const published = await publish(workspaceId);
    const before = await backlogOf(workspaceId);
    await publisher.forget(published);
    expect(await resend(published)).toMatchObject({ duplicate: true });
    expect(await backlogOf(workspaceId)).toEqual(before);
    await endAll();
    await publisher.forget(published);
    expect(await backlogOf(workspaceId)).toEqual({});
    expect(await resend(published)).toMatchObject({ duplicate: false });
    await endAll();
    await dropBody(redis, queues, published);
    expect(await backlogOf(workspaceId)).toEqual({});
  });

  test('that is sent again while the sweep drops what its forgotten job left keeps its bytes', async () => {
    const published = await publish(newWorkspace());
    await endAll();
    await removeJob(published.jobId);
    // The resend comes at the worst moment there is for a sweep that removes what it has looked at before.
    const unlink = async (key: string) => {
      await resend(published);
      return redis.unlink(key);
    };
    const interleaved = new Proxy(redis, {
      get: (target, name) => (name === 'unlink' ? unlink : Reflect.get(target, name, target)),
    });
    await sweepBodies({ redis: interleaved, ...queues });
    await resend(published);
    expect(await hasBody(published)).toBe(true);
    await sweepBodies({ redis, ...queues });
    expect(await hasBody(published)).toBe(true);
    await endAll();
    await sweepBodies({ redis, ...queues });
    expect(await hasBody(published)).toBe(false);
  });

  test('whose job waits for isolation is not swept', async () => {
    const published = await publish(newWorkspace());
    await queues.isolation.add('isolateBody', published.payload, { jobId: published.jobId });
    await endAll();
    await sweepBodies({ redis, ...queues });
    expect(await hasBody(published)).toBe(true);
    await queues.isolation.remove(published.jobId);
    await sweepBodies({ redis, ...queues });
    expect(await hasBody(published)).toBe(false);
  });
});

describe('while more bodies wait than are examined', () => {
  /** Resolves to when the oldest body of each was received. */
  async function oldest(workspaceIds: readonly string[]) {
    const bodies = await examineUnfinished(redis, [...queues.ingest, queues.isolation], { examinedMax: 2 });
    return bodies && Object.fromEntries(await bodies.oldestOf(workspaceIds));
  }
  const minuteOf = ({ payload }: Published) => payload.receivedAtMs - (payload.receivedAtMs % 60_000);
  afterEach(async () => {
    await endAll();
    await sweepBodies({ redis, ...queues });
  });

  test('the backlog of a workspace has the minute of its oldest one, until that is dropped', async () => {
    const [busy, quiet, idle] = [newWorkspace(), newWorkspace(), newWorkspace()];
    const first = await publish(busy);
    const others = await Promise.all([publish(busy), publish(busy), publish(quiet)]);
    // As a quarantined body that is sent again.
    const earlier = await publish(busy, { receivedAtMs: Date.now() - 3_600_000 });
    const both = await oldest([busy, quiet, idle]);
    expect(both).toEqual({ [busy]: minuteOf(earlier), [quiet]: expect.any(Number) });
    await endAll();
    const another = await Promise.all([publish(idle), publish(idle), publish(idle)]);
    for (const each of [...others, earlier]) await dropBody(redis, queues, each);
    expect(await oldest([busy, quiet, idle])).toEqual({
      [busy]: minuteOf(first),
      [idle]: Math.min(...another.map(minuteOf)),
    });
    await dropBody(redis, queues, first);
    expect(await oldest([busy, quiet])).toEqual({});
  });

  test.each([
    ['stored', 100],
    ['dropped', -100],
  ])('nothing is known of a workspace of which an older version has %s one', async (_what, bytes) => {
    const [workspaceId, other] = [newWorkspace(), newWorkspace()];
    for (const each of [workspaceId, workspaceId, other]) await publish(each);
    await redis.hincrby(backlogKey(workspaceId), 'bytes', bytes);
    expect(await oldest([workspaceId, other])).toEqual({ [workspaceId]: -Infinity, [other]: expect.any(Number) });
  });

  test('the data of a workspace is as of that minute, or of an unknown time', async () => {
    const { payload } = await publish(newWorkspace());
    const opts = { priority: 1 };
    await publisher.queue.addBulk(Array.from({ length: 5_001 }, () => ({ name: 'ingestBody', data: payload, opts })));
    const [known, unknown] = [await publish(newWorkspace()), await publish(newWorkspace())];
    await redis.hincrby(backlogKey(unknown.payload.workspaceId), 'bytes', 100);
    const own = createBodyPublisher(requests);
    expect(await own.oldestUnfinishedAtMs(known.payload.workspaceId)).toBe(minuteOf(known));
    expect(await own.oldestUnfinishedAtMs(newWorkspace())).toBeUndefined();
    await expect(own.oldestUnfinishedAtMs(unknown.payload.workspaceId)).rejects.toThrow(RangeError);
    await own.close();
    await publisher.queue.drain();
  });

  test('one that has begun counts, also when its backlog is not kept any more', async () => {
    const workspaceId = newWorkspace();
    const { payload } = await publish(workspaceId);
    await Promise.all([publish(newWorkspace()), publish(newWorkspace())]);
    await redis.del(backlogKey(workspaceId));
    await queues.isolation.add('isolateBody', payload, { jobId: 'isolated' });
    expect(await oldest([workspaceId])).toEqual({ [workspaceId]: payload.receivedAtMs });
    await queues.isolation.remove('isolated');
  });
});

describe('what a finished body leaves', () => {
  test('makes a resend within ten minutes the same delivery, however many another workspace finishes', async () => {
    const quiet = await publish(newWorkspace());
    const workspaceId = newWorkspace();
    const busy = await Promise.all(Array.from({ length: 6 }, () => publish(workspaceId)));
    await endAll();
    await dropBody(redis, queues, quiet);
    for (const each of busy) await dropBody(redis, queues, each, { rememberedPerMinute: 3 });
    const lifeOf = ({ jobId }: Published) => redis.ttl(publisher.queue.toKey(jobId));
    const lives = await Promise.all([quiet, ...busy].map(lifeOf));
    expect(lives.map((lifeS) => (lifeS > 540 ? 'long' : lifeS > 0 && lifeS <= 60 ? 'brief' : lifeS))).toEqual([
      ...['long', 'long', 'long', 'long', 'brief', 'brief', 'brief'],
    ]);
    expect(await resend(quiet)).toMatchObject({ duplicate: true });
    expect(await hasBody(quiet)).toBe(false);
    // A bound on the finished of all workspaces together would be a bound on these.
    expect(await publisher.queue.getCompletedCount()).toBe(0);
  });
});

describe('the order of the lane', () => {
  test('takes a body of another workspace before the backlog of one that came before it', async () => {
    const [busy, quiet] = [newWorkspace(), newWorkspace()];
    const flood: Published[] = [];
    for (let i = 0; i < 40; i++) flood.push(await publish(busy, { inflatedBytes: 512 * 1024 }));
    const single = await publish(quiet);
    const ended = await endAll();
    // Those that were sent before the busy one had a backlog worth seconds may come first.
    expect(ended.indexOf(single.jobId)).toBeLessThan(10);
    expect(ended.filter((id) => id !== single.jobId)).toEqual(flood.map(({ jobId }) => jobId));
  });

  test('puts the first body that a process publishes behind the backlog of its workspace', async () => {
    const busy = newWorkspace();
    for (let i = 0; i < 20; i++) await publish(busy, { inflatedBytes: 512 * 1024 });
    const other = createBodyPublisher(requests);
    const [first, second] = await Promise.all([publish(busy, {}, other), publish(busy, {}, other)]);
    await other.close();
    for (const { jobId } of [first, second]) {
      const job = await publisher.queue.getJob(jobId);
      expect(job?.data.delayS).toBeGreaterThanOrEqual(8);
    }
    const ended = await endAll();
    expect(ended.slice(-2).toSorted()).toEqual([first.jobId, second.jobId].toSorted());
  });

  test('is kept when the base is set anew while a process still reckons by the one before', async () => {
    await publish(newWorkspace());
    await endAll();
    const oldBaseS = Number(await redis.get(laneBaseKey));
    await redis.set(laneBaseKey, oldBaseS - 100_000);
    const first = await publish(newWorkspace());
    const second = await publish(newWorkspace());
    const priorities = await Promise.all(
      [first, second].map(({ jobId }) => redis.hget(publisher.queue.toKey(jobId), 'priority')),
    );
    expect(Number(priorities[1]) - Number(priorities[0])).toBeLessThanOrEqual(5);
    expect(Number(priorities[0])).toBeGreaterThanOrEqual(100_000);
    await endAll();
    await sweepBodies({ redis, ...queues });
    expect(Number(await redis.get(laneBaseKey))).toBeGreaterThan(oldBaseS - 100_000 + 86_400);
  });

  test('is kept when the base moves while bodies wait, and one is in progress', async () => {
    const lane = publisher.queue;
    const oldBaseS = Math.floor(Date.now() / 1_000) - 100_000;
    await redis.set(laneBaseKey, oldBaseS);
    const other = createBodyPublisher(requests);
    const busy = newWorkspace();
    for (let i = 0; i < 12; i++) await publish(busy, { inflatedBytes: 512 * 1024 }, other);
    const connection = connectWorkerRedis(redisUrl);
    const worker = new Worker(lane.name, null, { connection, prefix: queuePrefix(lane.name) });
    const begun = await worker.getNextJob('token');
    const before = await redis.zrange(lane.toKey('prioritized'), '0', '-1');
    expect(before).toHaveLength(11);
    await sweepBodies({ redis, ...queues });
    const movedS = Number(await redis.get(laneBaseKey)) - oldBaseS;
    expect(movedS).toBeGreaterThan(99_000);
    expect(await redis.zrange(lane.toKey('prioritized'), '0', '-1')).toEqual(before);
    // The publisher still reckons by the base before.
    const quiet = await publish(newWorkspace(), {}, other);
    const priorityOf = async (jobId: string) => Number(await redis.hget(lane.toKey(jobId), 'priority'));
    expect(await priorityOf(String(begun?.id))).toBe(1);
    for (const id of [...before, quiet.jobId]) expect(await priorityOf(id)).toBeLessThan(1_000);
    await begun?.moveToDelayed(Date.now() - 1, 'token');
    const ended = await endAll();
    // Two more have the same turn, as seconds.
    expect(ended.indexOf(String(begun?.id))).toBeLessThan(4);
    expect(ended.indexOf(quiet.jobId)).toBeLessThan(8);
    expect(ended.filter((id) => before.includes(id))).toEqual(before);
    await Promise.all([worker.close(), other.close()]);
    connection.disconnect();
  });
});

test('a body does not wait for the backlog of another workspace whose turn is over, because the workers are slow', async () => {
  const lateMs = 320_000;
  await redis.set(laneBaseKey, Math.floor((Date.now() - lateMs) / 1_000) - 60);
  const clock = { nowMs: () => Date.now() - lateMs };
  const then = createBodyPublisher(requests, { clock, barrier: { pass: async () => undefined } });
  for (let i = 0; i < 80; i++) await publish('busy', { inflatedBytes: 512 * 1024 }, then);
  await then.close();
  // A process that has published nothing yet.
  const now = createBodyPublisher(requests);
  const { jobId } = await publish('quiet', {}, now);
  await now.close();
  const ended = await endAll();
  // Two bodies of the backlog have the same turn, and two the one before it.
  expect(ended.indexOf(jobId)).toBeLessThan(6);
});

describe('while bodies of an hour ago wait', () => {
  const anHourAgoMs = Date.now() - 3_600_000;
  const info = 'aof_enabled:1\r\naof_last_write_status:ok\r\nmaxmemory_policy:noeviction\r\nused_memory:1\r\n';
  let then: BodyPublisher;
  beforeAll(async () => {
    await redis.set(laneBaseKey, Math.floor(anHourAgoMs / 1_000) - 60);
    then = createBodyPublisher(requests, {
      clock: { nowMs: () => anHourAgoMs },
      barrier: { pass: async () => undefined },
    });
  });
  afterAll(() => then.close());
  afterEach(endAll);

  test('that are the backlog of one workspace, and whose turn is now, others are accepted', async () => {
    const busy = newWorkspace();
    const sent: Published[] = [];
    for (let i = 0; i < 10; i++) sent.push(await publish(busy, { inflatedBytes: 400 * 1024 * 1024 }, then));
    // The workers have stored those whose turn was before.
    for (const { jobId } of sent.slice(0, 9)) await removeJob(jobId);
    expect(await oldestOf(publisher.queues, oldestWaitingAtMs)).toBe(anHourAgoMs);
    expect(refusalOf(info, await waitingSinceMs(), 2)).toBeUndefined();
  });

  test('that are the backlog of one workspace, and whose turn was long ago because it is served slowly, others are accepted', async () => {
    const [first, second] = await publishBacklog();
    await removeJob(first.jobId);
    const [waiting] = (await publisher.queues[1]?.getPrioritized(0, 0)) ?? [];
    expect(waiting).toMatchObject({ id: second.jobId, data: { delayS: 8 } });
    expect(refusalOf(info, await waitingSinceMs(), 2)).toBeUndefined();
  });

  test('of an older version, which do not tell the backlog before them, others are accepted', async () => {
    const { jobId, payload } = await publish(newWorkspace(), {}, then);
    await redis.hset(publisher.queue.toKey(jobId), 'data', JSON.stringify(payload));
    expect(refusalOf(info, await waitingSinceMs(), 2)).toBeUndefined();
  });

  test('that are the backlog of one workspace, and of which none is served for 15 minutes, all are refused', async () => {
    const [first, second] = await publishBacklog();
    await removeJob(first.jobId);
    let nowMs = Date.now();
    const lateness = createLateness(publisher.queues, () => nowMs);
    const refusal = async () => refusalOf(info, await lateness(), 2, nowMs);
    expect(await refusal()).toBeUndefined();
    nowMs += 16 * 60_000;
    expect(await refusal()).toMatch(/15 minutes behind/);
    await removeJob(second.jobId);
    expect(await refusal()).toBeUndefined();
  });

  test('but none that is tried alone is late, how many they are does not matter', async () => {
    for (let place = 1; place <= 3; place++) {
      await queues.isolation.add('isolateBody', payloadOf(newWorkspace(), {}), { priority: place });
    }
    expect(await examineUnfinished(redis, [queues.isolation], { examinedMax: 1 })).toBeDefined();
    await queues.isolation.drain();
  });

  const waitingSinceMs = () => createLateness(publisher.queues, Date.now)();

  async function publishBacklog() {
    const busy = newWorkspace();
    const send = () => publish(busy, { inflatedBytes: 8 * 1024 * 1024 }, then);
    return [await send(), await send(), await send()] as const;
  }

  test('because the workers are away, all are refused', async () => {
    await publish(newWorkspace(), {}, then);
    await publish(newWorkspace(), { inflatedBytes: 400 * 1024 * 1024 });
    expect(refusalOf(info, await waitingSinceMs(), 2)).toMatch(/15 minutes behind/);
    // Their backlogs may have expired, so nothing is known of any workspace.
    expect(await examineUnfinished(redis, queues.ingest, { examinedMax: 0 })).toBeUndefined();
  });
});

describe('a job whose body is not there', () => {
  async function run(isOurs: boolean) {
    const config = testConfig({ redisUrl });
    const clients = connectClients(config, 'test');
    const storing = createStoring(clients);
    const jobId = `b_${randomBytes(32).toString('hex')}`;
    const deps = {
      ...clients,
      ...storing,
      isolation: queues.isolation,
      latency: createLatencyRecorder(),
      logger: createLogger({ level: 'silent', name: 'test' }),
      clock: { nowMs: () => Date.now() },
      countStored: () => undefined,
    };
    const facts = { id: jobId, attemptsMade: 0, isRepeated: false, stalledCounter: 0, isOurs: async () => isOurs };
    const outcome = await ingestOrIsolate(deps, facts, payloadOf(newWorkspace(), {}));
    const quarantined = await clients.postgres('quarantined_bodies').where({ job_id: jobId });
    await Promise.all([storing.close(), clients.close()]);
    return { outcome, quarantined };
  }

  test('that another worker has ended meanwhile is left alone', async () => {
    expect((await run(false)).quarantined).toEqual([]);
  });

  test('that is still this worker’s goes to the quarantine with what is known', async () => {
    const { outcome, quarantined } = await run(true);
    expect(outcome).toBe('quarantined');
    expect(quarantined).toMatchObject([{ reason: expect.stringContaining('is not in Redis') }]);
  });
});

import { randomUUID } from 'node:crypto';
import { type Job, type Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IngestOrIsolateDeps, ingestOrIsolate } from '../../src/domains/ingestion/store/ingest-or-isolate.ts';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { createIdentityEventPublisher, type IdentityEventPublisher } from '../../src/queue/identity-event-publisher.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { connectOptimizationQueue } from '../../src/queue/optimization-queue.ts';
import { connectRequestRedis, connectWorkerRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { queuePrefix } from '../../src/stores/redis/names.ts';
import { identityEvent } from '../support/identity-state.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { payloadOf } from '../support/quarantine.ts';
import { until } from '../support/until.ts';

/** No worker of another file takes the jobs. */
const redisUrl = ownRedisUrl(4);

let requests: Redis;
let publisher: BodyPublisher;
let identity: IdentityEventPublisher;
let runs: ReturnType<typeof connectOptimizationQueue>;
let isolation: Queue;

beforeAll(async () => {
  requests = connectRequestRedis(redisUrl);
  await firstConnection(requests);
  publisher = createBodyPublisher(requests);
  identity = createIdentityEventPublisher(requests);
  runs = connectOptimizationQueue(requests);
  isolation = connectQueue(jobCatalog.isolateBody.queue, requests);
});
afterAll(async () => {
  await Promise.all([publisher.close(), identity.close(), runs.queue.close(), isolation.close()]);
  requests.disconnect();
});

const body = Buffer.from('a body');
const payload = payloadOf({ id: 'prj_1', workspaceId: 'wsp_1', key: '' }, body);
const facts = { attemptsMade: 0, isRepeated: false, stalledCounter: 2, isOurs: async () => true };

test.each<[string, () => Queue, (id: string) => Promise<unknown>]>([
  ['a body', () => publisher.queue, (id) => publisher.publish(id, body, payload, undefined)],
  // Of a body that crashed workers nothing else is asked.
  [
    'a body alone',
    () => isolation,
    (id) => ingestOrIsolate({ isolation } as IngestOrIsolateDeps, { id, ...facts }, payload),
  ],
  [
    'an identity event',
    () => identity.queue,
    (id) =>
      identity.publish(
        id,
        identityEvent(Date.now(), { kind: 'user', verb: 'created', subject: id, email: null, name: null }),
      ),
  ],
  ['a run', () => runs.queue, (id) => runs.add([{ projectId: 'prj_1', runId: id, place: 1, attempt: 1 }])],
])('of the errors of %s that is tried again and again, the last stack is kept', async (_job, queueOf, add) => {
  const id = randomUUID();
  await add(id);
  const connection = connectWorkerRedis(redisUrl);
  const { name } = queueOf();
  const stacks: string[][] = [];
  const work = async (job: Job) => {
    if (!job.id?.startsWith(id)) return;
    if (job.attemptsMade < 3) throw new Error(`failure ${job.attemptsMade}`);
    stacks.push(job.stacktrace ?? []);
  };
  const worker = new Worker(name, work, {
    ...{ connection, prefix: queuePrefix(name), settings: { backoffStrategy: () => 0 } },
  });
  expect(await until('it is tried a fourth time', 10_000, () => stacks[0])).toEqual([
    expect.stringContaining('failure 2'),
  ]);
  await worker.close();
  connection.disconnect();
});

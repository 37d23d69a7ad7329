import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { Worker } from 'bullmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IngestOrIsolateDeps, ingestOrIsolate } from '../../src/domains/ingestion/store/ingest-or-isolate.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { queuePrefix } from '../../src/stores/redis/names.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { payloadOf } from '../support/quarantine.ts';
import { until } from '../support/until.ts';

let redis: Redis;
let isolation: Queue;
beforeAll(() => {
  redis = connectWorkerRedis(ownRedisUrl(9));
  isolation = connectQueue(`isolation-${randomUUID()}`, redis);
});
afterAll(async () => {
  await isolation.obliterate({ force: true });
  redis.disconnect();
});

test('a body that is to be tried alone comes after one of another workspace, which has many before it', async () => {
  const deps = { isolation } as IngestOrIsolateDeps; // Of a body that crashed workers nothing else is asked.
  const project = { id: 'prj_1' } as Parameters<typeof payloadOf>[0];
  const isolate = async (id: string, workspaceId: string) => {
    const job = { id, attemptsMade: 0, isRepeated: false, stalledCounter: 2, isOurs: async () => true };
    const payload = payloadOf(project, Buffer.alloc(1), { workspaceId });
    expect(await ingestOrIsolate(deps, job, payload)).toBe('isolated');
  };
  for (let nth = 0; nth < 20; nth++) await isolate(`many-${nth}`, 'wsp_many');
  await isolate('one', 'wsp_one');

  const order: (string | undefined)[] = [];
  const worker = new Worker(isolation.name, async ({ id }) => void order.push(id), {
    connection: connectWorkerRedis(ownRedisUrl(9)),
    prefix: queuePrefix(isolation.name),
  });
  await until('all are done', 10_000, () => order.length === 21);
  await worker.close();
  expect(order.indexOf('one')).toBe(1);
  expect(order.filter((id) => id !== 'one')).toEqual(Array.from({ length: 20 }, (_, nth) => `many-${nth}`));
});

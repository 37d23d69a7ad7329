import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { bodyKey } from '../../src/queue/body-key.ts';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { RedisClock } from '../../src/queue/redis-clock.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { type SlowDiskRedis, startSlowDiskRedis } from '../support/slow-disk/slow-disk-redis.ts';
import { until } from '../support/until.ts';

const senders = 16;
const projectId = 'prj_slow_disk';
/** Enough to be in several of Redis' seconds, and to have many bodies under way when it is killed. */
const acknowledgedMin = 500;

const payload: IngestBodyPayload = {
  ...{ v: 1, projectId, workspaceId: 'wsp_slow_disk', retentionDays: 0, encoding: 'json', coding: 'identity' },
  ...{ inflatedBytes: 500, spans: 1, receivedAtMs: 0 },
};

let disk: SlowDiskRedis;
let redis: Redis;
afterEach(async () => {
  redis.disconnect();
  await disk.stop();
});

async function connect(fsyncDelayMs: number): Promise<void> {
  disk = await startSlowDiskRedis(fsyncDelayMs);
  redis = connectRequestRedis(disk.url);
  redis.on('error', () => undefined);
  await firstConnection(redis);
}

/** Publishes until Redis is killed, at a moment when an fsync is under way; resolves with the ids that were acknowledged. */
async function acknowledgedUntilKilled(publisher: BodyPublisher): Promise<string[]> {
  const acknowledged: string[] = [];
  let killed = false;
  let count = 0;
  const send = async () => {
    while (!killed) {
      const id = `b_${createHash('sha256').update(String(count++)).digest('hex')}`;
      const answer = await publisher.publish(id, Buffer.alloc(500, 'x'), payload, undefined).catch(() => undefined);
      if (answer !== undefined && !killed) acknowledged.push(id);
    }
  };
  const sending = Promise.all(Array.from({ length: senders }, send));
  await until('enough was taken, and Redis puts its writes off', 60_000, async () => {
    const info = await redis.info('persistence');
    return (
      acknowledged.length >= acknowledgedMin &&
      /aof_pending_bio_fsync:[1-9]/.test(info) &&
      /aof_buffer_length:\d{4}/.test(info)
    );
  });
  killed = true;
  await disk.kill();
  await sending;
  return acknowledged;
}

/** Of bodies and jobs, after Redis has read its append-only file. */
async function lostOf(publisher: BodyPublisher, ids: readonly string[]): Promise<string[]> {
  await disk.start();
  await until('the connection is back', 30_000, () => redis.status === 'ready');
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.exists(bodyKey(projectId, id)).exists(publisher.queue.toKey(id));
  const found = ((await pipeline.exec()) ?? []).map(([, value]) => value);
  return ids.filter((_, index) => found[index * 2] !== 1 || found[index * 2 + 1] !== 1);
}

describe('Redis with appendfsync everysec, killed while its disk is slow', () => {
  it.each([300, 2_000])('an fsync takes %d ms: has every body that was acknowledged', async (fsyncDelayMs) => {
    await connect(fsyncDelayMs);
    const publisher = createBodyPublisher(redis);
    const acknowledged = await acknowledgedUntilKilled(publisher);
    expect(await lostOf(publisher, acknowledged)).toEqual([]);
    await publisher.close();
  });

  it('loses some of what it had merely answered, so the test can fail', async () => {
    await connect(2_000);
    const barrier = { pass: async () => undefined };
    const publisher = createBodyPublisher(redis, { clock: new RedisClock(), barrier });
    const answered = await acknowledgedUntilKilled(publisher);
    expect((await lostOf(publisher, answered)).length).toBeGreaterThan(0);
    await publisher.close();
  });
});

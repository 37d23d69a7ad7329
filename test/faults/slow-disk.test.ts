import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { createIdentityEventPublisher } from '../../src/queue/identity-event-publisher.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { RedisClock } from '../../src/queue/redis-clock.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { bodyKey } from '../../src/stores/redis/names.ts';
import { identityEvent } from '../support/identity-state.ts';
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

const publishBody = (publisher: BodyPublisher) => (n: number) => {
  const id = `b_${createHash('sha256').update(String(n)).digest('hex')}`;
  return publisher.publish(id, Buffer.alloc(500, 'x'), payload, undefined).then(() => id);
};

/**
 * Publishes until Redis is killed, at a moment when an fsync is under way; resolves with the ids
 * that were acknowledged.
 */
async function acknowledgedUntilKilled(publish: (n: number) => Promise<string>): Promise<string[]> {
  const acknowledged: string[] = [];
  let killed = false;
  let count = 0;
  const send = async () => {
    while (!killed) {
      const id = await publish(count++).catch(() => undefined);
      if (id !== undefined && !killed) acknowledged.push(id);
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

/** Those of which Redis does not have every key, after it has read its append-only file. */
async function lostOf(ids: readonly string[], keysOf: (id: string) => readonly string[]): Promise<string[]> {
  await disk.start();
  await until('the connection is back', 30_000, () => redis.status === 'ready');
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.exists(...keysOf(id));
  const found = ((await pipeline.exec()) ?? []).map(([, value]) => value);
  return ids.filter((id, index) => found[index] !== keysOf(id).length);
}

/** A body and its job. */
const keysOfBody = (publisher: BodyPublisher) => (id: string) => [bodyKey(projectId, id), publisher.queue.toKey(id)];

describe('Redis with appendfsync everysec, killed while its disk is slow', () => {
  it.each([300, 2_000])('an fsync takes %d ms: has every body that was acknowledged', async (fsyncDelayMs) => {
    await connect(fsyncDelayMs);
    const publisher = createBodyPublisher(redis);
    const acknowledged = await acknowledgedUntilKilled(publishBody(publisher));
    expect(await lostOf(acknowledged, keysOfBody(publisher))).toEqual([]);
    await publisher.close();
  });

  it('an fsync takes 300 ms: has every identity event that was acknowledged', async () => {
    await connect(300);
    const publisher = createIdentityEventPublisher(redis);
    const acknowledged = await acknowledgedUntilKilled(async (n) => {
      const subject = `user_${n}`;
      const change = { kind: 'user', verb: 'created', subject, email: null, name: 'x'.repeat(500) } as const;
      await publisher.publish(subject, identityEvent(n, change));
      return subject;
    });
    expect(await lostOf(acknowledged, (id) => [publisher.queue.toKey(id)])).toEqual([]);
    await publisher.close();
  });

  it('loses some of what it had merely answered, so the test can fail', async () => {
    await connect(2_000);
    const barrier = { pass: async () => undefined };
    const publisher = createBodyPublisher(redis, { clock: new RedisClock(), barrier });
    const answered = await acknowledgedUntilKilled(publishBody(publisher));
    expect((await lostOf(answered, keysOfBody(publisher))).length).toBeGreaterThan(0);
    await publisher.close();
  });
});

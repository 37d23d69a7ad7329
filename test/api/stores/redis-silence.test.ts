import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  connectRequestRedis,
  connectWorkerRedis,
  firstConnection,
  type Redis,
} from '../../../src/stores/redis/client.ts';
import { clusterOf } from '../../../src/stores/redis/cluster-url.ts';
import { type HoldingProxy, startHoldingProxy } from '../../support/holding-proxy.ts';
import { until } from '../../support/until.ts';

/** A proxy cannot stand before the servers of a cluster, which name each other. */
const isCluster = clusterOf(inject('redisUrl')) !== undefined;

describe.skipIf(isCluster)('a connection to Redis that the network loses without closing it', () => {
  let proxies: HoldingProxy[] = [];
  beforeAll(async () => {
    proxies = await Promise.all([1, 2, 3].map(() => startHoldingProxy(inject('redisUrl'))));
  });
  afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));

  /** Connects, and then loses the connection of the client. */
  async function lost(connect: (url: string) => Redis, proxy: HoldingProxy | undefined): Promise<Redis> {
    const redis = connect(proxy?.url ?? '');
    redis.on('error', () => undefined);
    await firstConnection(redis);
    expect(await redis.ping()).toBe('PONG');
    proxy?.silence();
    return redis;
  }

  test.concurrent('is made again for requests after 4 s', async () => {
    const redis = await lost(connectRequestRedis, proxies[0]);
    const startedAtMs = performance.now();
    await expect(redis.ping()).rejects.toThrow('Command timed out');
    await until('an answer', 12_000, async () => (await redis.ping()) === 'PONG');
    // A Redis that stands still for 2 s on a slow disk keeps its connections.
    expect(performance.now() - startedAtMs).toBeGreaterThan(2_500);
    redis.disconnect();
  });

  test.concurrent('is made again for workers after 15 s, and answers what was asked before', async () => {
    const redis = await lost(connectWorkerRedis, proxies[1]);
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
  });

  test.concurrent('is kept for a blocking read of 10 s, the longest of BullMQ', async () => {
    const redis = connectWorkerRedis(proxies[2]?.url ?? '');
    const closed = new Promise((resolve) => redis.once('close', () => resolve('closed')));
    const read = redis.bzpopmin('promptlane:no-such-key', 10);
    expect(await Promise.race([read, closed])).toBeNull();
    redis.disconnect();
  });
});

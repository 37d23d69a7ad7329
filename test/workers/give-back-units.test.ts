import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { monthOf } from '../../src/domains/quotas/usage.ts';
import { newId } from '../../src/lib/ids.ts';
import { giveBackUnits } from '../../src/queue/give-back-units.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { usageKey } from '../../src/stores/redis/names.ts';

let redis: Redis;
beforeAll(() => {
  redis = connectWorkerRedis(inject('redisUrl'));
});
afterAll(() => redis.disconnect());

/** A counter with 50 units, of which 20 were taken for a body. */
async function charged(quota: 'spans' | 'ingested_bytes', taken = true) {
  const key = usageKey(newId('wsp'), quota, monthOf(Date.now()));
  const slot = quota === 'spans' ? '100' : '';
  await redis.hset(key, slot === '' ? { total: 50 } : { total: 50, [slot]: 30 });
  return { key, slot, expiresAtS: Math.ceil(Date.now() / 1_000) + 60, units: 20, taken };
}

describe('the spans and bytes of a body that could not be queued', () => {
  test('are given back while its job does not exist', async () => {
    const meters = [await charged('spans'), await charged('ingested_bytes')] as const;
    expect(await giveBackUnits(redis, [`${meters[0].key}:job`], meters)).toBe(2);
    expect(await redis.hgetall(meters[0].key)).toEqual({ total: '30', 100: '10' });
    expect(await redis.hgetall(meters[1].key)).toEqual({ total: '30' });
  });

  test('are not given back where they were not taken, because the quota is unlimited', async () => {
    const meters = [await charged('spans', false), await charged('ingested_bytes')] as const;
    expect(await giveBackUnits(redis, [`${meters[0].key}:job`], meters)).toBe(1);
    expect(await redis.hgetall(meters[0].key)).toEqual({ total: '50', 100: '30' });
    expect(await redis.hgetall(meters[1].key)).toEqual({ total: '30' });
  });

  test('stay counted if its job exists in a lane, because only the answer was lost', async () => {
    const meter = await charged('spans');
    await redis.set(`${meter.key}:job`, '1', 'EX', 60);
    expect(await giveBackUnits(redis, [`${meter.key}:other`, `${meter.key}:job`], [meter])).toBe(0);
    expect(await redis.hgetall(meter.key)).toEqual({ total: '50', 100: '30' });
  });

  test('are not given back to a counter that Redis has lost', async () => {
    const meter = await charged('spans');
    await redis.del(meter.key);
    expect(await giveBackUnits(redis, [`${meter.key}:job`], [meter])).toBe(0);
    expect(await redis.exists(meter.key)).toBe(0);
  });
});

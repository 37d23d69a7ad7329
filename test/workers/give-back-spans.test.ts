import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { monthOf } from '../../src/domains/quotas/usage.ts';
import { newId } from '../../src/lib/ids.ts';
import { giveBackSpans } from '../../src/queue/give-back-spans.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { usageKey } from '../../src/stores/redis/names.ts';

let redis: Redis;
beforeAll(() => {
  redis = connectWorkerRedis(inject('redisUrl'));
});
afterAll(() => redis.disconnect());

/** A counter with 50 spans, of which 20 were taken for a body. */
async function charged() {
  const key = usageKey(newId('wsp'), 'spans', monthOf(Date.now()));
  await redis.hset(key, { total: 50, 100: 30 });
  return { key, slot: '100', expiresAtS: Math.ceil(Date.now() / 1_000) + 60, spans: 20, taken: true };
}

describe('the spans of a body that could not be queued', () => {
  test('are given back while its job does not exist', async () => {
    const meter = await charged();
    expect(await giveBackSpans(redis, [`${meter.key}:job`], meter)).toBe(true);
    expect(await redis.hgetall(meter.key)).toEqual({ total: '30', 100: '10' });
  });

  test('stay counted if its job exists in a lane, because only the answer was lost', async () => {
    const meter = await charged();
    await redis.set(`${meter.key}:job`, '1', 'EX', 60);
    expect(await giveBackSpans(redis, [`${meter.key}:other`, `${meter.key}:job`], meter)).toBe(false);
    expect(await redis.hgetall(meter.key)).toEqual({ total: '50', 100: '30' });
  });

  test('are not given back to a counter that Redis has lost', async () => {
    const meter = await charged();
    await redis.del(meter.key);
    expect(await giveBackSpans(redis, [`${meter.key}:job`], meter)).toBe(false);
    expect(await redis.exists(meter.key)).toBe(0);
  });
});

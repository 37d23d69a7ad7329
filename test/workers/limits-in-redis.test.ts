import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { checkInRedis } from '../../src/domains/quotas/check-in-redis.ts';
import { consumeQuota } from '../../src/domains/quotas/consume-quota.ts';
import { Limiter } from '../../src/domains/quotas/index.ts';
import type { LimitCheck, QuotaCheck, RateCheck } from '../../src/domains/quotas/limit-check.ts';
import { usageEntry } from '../../src/domains/quotas/usage.ts';
import { UnavailableError } from '../../src/lib/errors.ts';
import { newId } from '../../src/lib/ids.ts';
import { RedisClock } from '../../src/queue/redis-clock.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import { clusterOf } from '../../src/stores/redis/cluster-url.ts';
import { rateKey } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { startHoldingProxy } from '../support/holding-proxy.ts';
import { requestRedis } from '../support/limits.ts';
import { until } from '../support/until.ts';

let redis: Redis;
beforeAll(async () => {
  redis = await requestRedis(inject('redisUrl'));
});
afterAll(() => redis.disconnect());

const hour = 3_600_000;
const logger = createLogger({ level: 'silent', name: 'test' });

function rate(given: Partial<RateCheck> = {}): RateCheck {
  const key = rateKey(newId('wsp'), 'ingest');
  return { kind: 'rate', name: 'ingest', key, cost: 1, limit: 100, windowMs: hour, ...given };
}
function quota(limit: number, cost: number): QuotaCheck {
  return { kind: 'quota', name: 'spans', cost, limit, ...usageEntry(newId('wsp'), 'spans', Date.now()) };
}
async function manyTimes(times: number, checks: readonly LimitCheck[]): Promise<number> {
  const outcomes = await Promise.all(Array.from({ length: times }, () => checkInRedis(redis, checks)));
  return outcomes.filter(({ granted }) => granted).length;
}

const processes = 4;
const script = fileURLToPath(new URL('../support/limit-process.ts', import.meta.url));

/** Four processes that check 400 times each, all begun together; how many each was granted. */
async function fromFourProcesses(checks: readonly LimitCheck[]): Promise<number[]> {
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['--import', 'tsx', script, inject('redisUrl'), '400']),
  );
  try {
    await Promise.all(children.map((child) => said(child, /ready/)));
    const answers = children.map((child) => said(child, /^\d+$/m));
    for (const child of children) child.stdin.write(`${JSON.stringify(checks)}\n`);
    return (await Promise.all(answers)).map(Number);
  } finally {
    for (const child of children) child.kill();
  }
}

async function said(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<string> {
  let output = '';
  for (;;) {
    const [chunk] = await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error(`The process ended: ${output}`))),
    ]);
    output += String(chunk);
    const match = pattern.exec(output);
    if (match !== null) return match[0];
  }
}

describe('a limit of n, drawn on by four processes at once,', () => {
  test('lets exactly n through', async () => {
    const checks = [rate({ limit: 100 })];
    const granted = await fromFourProcesses(checks);
    expect(granted.reduce((sum, count) => sum + count)).toBe(100);
    expect((await checkInRedis(redis, checks)).granted).toBe(false);
  });

  test('lets exactly what fits the tightest of several through, and checks nothing on the others beyond', async () => {
    const checks = [rate({ limit: 5_000 }), rate({ limit: 1_000_000, cost: 700 }), quota(1_000, 7)];
    const granted = await fromFourProcesses(checks);
    const passed = Math.floor(1_000 / 7);
    expect(granted.reduce((sum, count) => sum + count)).toBe(passed);
    const left = await checkInRedis(
      redis,
      checks.map((check) => ({ ...check, cost: 0 })),
    );
    expect(left.results[2]?.remaining).toBe(1_000 - passed * 7);
    // Rates drain while the test runs: a window of an hour gives back 1.4 requests a second.
    expect(left.results[0]?.remaining).toBeGreaterThanOrEqual(5_000 - passed);
    expect(left.results[0]?.remaining).toBeLessThan(5_000 - passed + 60);
  });
});

describe('a limit in Redis', () => {
  test('lets no window through more than the limit and what drained in it', async () => {
    const windowMs = 500;
    const checks = [rate({ limit: 50, windowMs })];
    const passed: number[] = [];
    const startedAtMs = performance.now();
    while (performance.now() - startedAtMs < 3 * windowMs) {
      const askedAtMs = performance.now();
      if ((await checkInRedis(redis, checks)).granted) passed.push(askedAtMs);
    }
    const endedAtMs = performance.now();
    expect(passed.length).toBeGreaterThan(100);
    for (const [index, fromMs] of passed.entries()) {
      for (const [more, toMs] of passed.slice(index).entries()) {
        // A request was counted between being asked and the next one: at most until the next asked.
        const laterMs = passed[index + more + 1] ?? endedAtMs;
        expect(more + 1, `${fromMs} to ${toMs}`).toBeLessThanOrEqual(50 + ((laterMs - fromMs) * 50) / windowMs + 1);
      }
    }
  });

  test('says what is left, when it is whole again and when this check would pass', async () => {
    const check = rate({ limit: 10, windowMs: 60_000 });
    expect(await checkInRedis(redis, [{ ...check, cost: 4 }])).toMatchObject({
      granted: true,
      results: [{ remaining: 6, resetMs: 24_000, retryMs: 0 }],
    });
    const refused = await checkInRedis(redis, [{ ...check, cost: 8 }]);
    expect(refused).toMatchObject({ granted: false, results: [{ remaining: 6 }] });
    expect(refused.results[0]?.retryMs).toBeGreaterThan(10_000);
    expect(refused.results[0]?.retryMs).toBeLessThanOrEqual(12_000);
    const tooLarge = await checkInRedis(redis, [{ ...check, cost: 11 }]);
    expect(tooLarge).toMatchObject({ granted: false, results: [{ retryMs: 60_000 }] });
    const none = await checkInRedis(redis, [{ ...check, limit: 0 }]);
    expect(none).toMatchObject({ granted: false, results: [{ retryMs: 60_000 }] });
  });

  test('of bytes stays exact however small the parts', async () => {
    const check = rate({ limit: 2 ** 31, cost: 2 ** 21, windowMs: 30 * 24 * hour });
    expect(await manyTimes(1_100, [check])).toBe(1_024);
  });

  test('is forgotten once it has drained', async () => {
    const check = rate({ limit: 100, cost: 1, windowMs: 1_000 });
    await checkInRedis(redis, [check]);
    expect(await redis.pttl(check.key)).toBeLessThanOrEqual(12);
    await until('the key is gone', 1_000, async () => (await redis.exists(check.key)) === 0);
  });
});

/** A proxy cannot stand before the servers of a cluster, which name each other. */
const isCluster = clusterOf(inject('redisUrl')) !== undefined;

describe('a check of a limiter', () => {
  test.skipIf(isCluster)('that Redis runs after its caller was told that it is unavailable takes nothing', async () => {
    const proxy = await startHoldingProxy(inject('redisUrl'));
    const slow = await requestRedis(proxy.url);
    const checks = [rate(), quota(1_000, 7)];
    const free = checks.map((check) => ({ ...check, cost: 0 }));
    // From then on Redis knows the script.
    await checkInRedis(redis, free);
    const limiter = new Limiter({ redis: slow, logger, clock: new RedisClock() });
    proxy.hold(true);
    await expect(limiter.check(checks)).rejects.toBeInstanceOf(UnavailableError);
    proxy.hold(false);
    // Redis answers in order.
    expect(await slow.ping()).toBe('PONG');
    const left = await checkInRedis(redis, free);
    expect(left.results.map(({ remaining }) => remaining)).toEqual([100, 1_000]);
    slow.disconnect();
    await proxy.close();
  });

  test.each([
    ['ahead of', hour],
    ['behind', -hour],
  ])('whose clock is an hour %s that of Redis is granted all the same', async (_, ms) => {
    const limiter = new Limiter({ redis, logger, clock: { nowMs: () => Date.now() + ms } });
    expect(await limiter.check([rate()])).toMatchObject({ granted: true, results: [{ remaining: 99 }] });
  });
});

describe('a monthly quota', () => {
  const workspace = (limit: number | null) => ({
    id: newId('wsp'),
    plan: 'enterprise' as const,
    overrides: { quotas: { optimization_runs: limit } },
  });
  const run = { quota: 'optimization_runs' as const, units: 1, atMs: Date.now() };
  const newLimiter = () => new Limiter({ redis, logger, clock: new RedisClock() });

  test('consumed by many at once is never exceeded, and says when it begins anew', async () => {
    const limited = workspace(7);
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, () => consumeQuota({ limiter: newLimiter() }, limited, run)),
    );
    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refusals).toHaveLength(33);
    for (const error of refusals) {
      expect(error).toMatchObject({
        code: 'quota_exceeded',
        extra: {
          resource: 'optimization_runs',
          limit: 7,
          used: 7,
          resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/),
        },
      });
    }
  });

  test('that is unlimited is counted all the same', async () => {
    const unlimited = workspace(null);
    await consumeQuota({ limiter: newLimiter() }, unlimited, { ...run, units: 3 });
    const { key } = usageEntry(unlimited.id, run.quota, run.atMs);
    expect(await redis.hget(key, 'total')).toBe('3');
    expect(await redis.ttl(key)).toBeGreaterThan(0);
  });
});

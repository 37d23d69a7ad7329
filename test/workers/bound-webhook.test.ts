import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { boundWebhook, Limiter, RefusedCredentials } from '../../src/domains/quotas/index.ts';
import { RateLimitedError, UnauthenticatedError } from '../../src/lib/errors.ts';
import { RedisClock } from '../../src/queue/redis-clock.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { requestRedis } from '../support/limits.ts';

let redis: Redis;
beforeAll(async () => {
  redis = await requestRedis(inject('redisUrl'));
});
afterAll(() => redis.disconnect());

/** One process's own. */
function newDeps() {
  const logger = createLogger({ level: 'error', name: 'test' });
  return {
    limiter: new Limiter({ redis, logger, clock: new RedisClock() }),
    refusedCredentials: new RefusedCredentials(),
  };
}

const forged = async () => {
  throw new UnauthenticatedError('invalid_signature', 'forged');
};

describe('webhooks of a provider', () => {
  const provider = randomUUID();
  const source = { provider, address: '203.0.113.7', setHeaders: () => undefined };

  test('that are signed pass up to the limit of a minute, over two processes', async () => {
    const deps = [newDeps(), newDeps()];
    const startedAtMs = performance.now();
    const sent = Array.from({ length: 6_400 }, (_, index) => {
      const own = deps[index % 2];
      if (own === undefined) throw new Error('There are two');
      return boundWebhook(own, source, (admit) => admit()).then(
        () => 'passed',
        (error: unknown) => (error instanceof RateLimitedError ? 'limited' : String(error)),
      );
    });
    const outcomes = await Promise.all(sent);
    const drained = Math.ceil((performance.now() - startedAtMs) / 10);
    const passed = outcomes.filter((outcome) => outcome === 'passed').length;
    expect(passed).toBeGreaterThanOrEqual(6_000);
    expect(passed).toBeLessThanOrEqual(6_000 + drained);
    expect(outcomes.filter((outcome) => outcome === 'limited')).toHaveLength(outcomes.length - passed);
  });

  test('that are forged are counted by their address, and draw nothing on the provider', async () => {
    const deps = newDeps();
    const own = { ...source, provider: randomUUID() };
    const errors: unknown[] = [];
    for (let sent = 0; sent < 620; sent++) errors.push(await boundWebhook(deps, own, forged).catch((error) => error));
    expect(errors.slice(0, 600).every((error) => error instanceof UnauthenticatedError)).toBe(true);
    expect(errors.at(-1)).toBeInstanceOf(RateLimitedError);
    const told: Record<string, string>[] = [];
    const signed = { ...own, setHeaders: (headers: Readonly<Record<string, string>>) => told.push(headers) };
    await boundWebhook(deps, signed, (admit) => admit());
    expect(told.at(-1)).toMatchObject({ 'X-RateLimit-Remaining': '5999' });
  });
});

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { settleMonthlyUsage } from '../../src/domains/quotas/settle-monthly-usage.ts';
import { monthOf } from '../../src/domains/quotas/usage.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { usageKey } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { quotaReached } from '../../workers/processors.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { limitedProject } from '../support/limits.ts';
import { ownRedisUrl } from '../support/own-redis.ts';

let api: TestApi;
let redis: Redis;
let clickhouse: ClickHouse;
beforeAll(async () => {
  // Counters of its own: the worker of this run counts in another database.
  const redisUrl = ownRedisUrl(9);
  redis = connectWorkerRedis(redisUrl);
  await redis.flushdb();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  api = await startApi({ redisUrl });
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([clickhouse.close(), api.close()]);
});

async function quotaMetrics(): Promise<string[]> {
  const { text } = await api.call('getMetrics', { adminKey: api.config.adminApiKey });
  return text.split('\n').filter((line) => line.startsWith('quota_'));
}

function check(failing?: Error): Promise<void> {
  const queue = connectQueue('quota-metrics', redis);
  const deps = { redis, clickhouse, postgres: api.postgres, ingest: [queue], isolation: queue };
  const logger = createLogger({ level: 'silent', name: 'test' });
  const reached: typeof quotaReached = failing === undefined ? quotaReached : () => Promise.reject(failing);
  return settleMonthlyUsage({ ...deps, logger, quotaReached: reached }, { nowMs: Date.now() });
}

const counts = (reached: readonly number[], failures: number) => [
  ...['spans', 'optimization_runs', 'ingested_bytes', 'written_bytes'].flatMap((resource, index) =>
    [0.8, 1].map((threshold, at) => {
      const labels = `resource="${resource}",threshold="${threshold}",process="api"`;
      return `quota_thresholds_total{${labels}} ${reached[2 * index + at]}`;
    }),
  ),
  `quota_check_failures_total{process="api"} ${failures}`,
];

test('metrics count each threshold of each quota once, and name no workspace', async () => {
  expect(await quotaMetrics()).toEqual(counts([0, 0, 0, 0, 0, 0, 0, 0], 0));
  const month = monthOf(Date.now());
  const quotas = { spans: 10, optimization_runs: 10, written_bytes: 1_000 };
  const [first, second] = [await limitedProject(api, { quotas }), await limitedProject(api, { quotas })];
  /** The usage is set each time, because a check also settles it with the stored spans, of which there are none. */
  const checkUsage = async (failing?: Error) => {
    await redis.hset(usageKey(first.workspaceId, 'spans', month), 'total', 9);
    await redis.hset(usageKey(second.workspaceId, 'spans', month), 'total', 10);
    await redis.hset(usageKey(second.workspaceId, 'optimization_runs', month), 'total', 8);
    await redis.hset(usageKey(first.workspaceId, 'written_bytes', month), 'total', 1_000);
    await check(failing);
  };
  await checkUsage(new Error('the events cannot be stored'));
  expect(await quotaMetrics()).toEqual(counts([0, 0, 0, 0, 0, 0, 0, 0], 1));
  await checkUsage();
  await checkUsage();
  const found = await quotaMetrics();
  const age = found.find((line) => line.startsWith('quota_check_age_seconds{process="api"} ')) ?? '';
  expect(found).toEqual([...counts([2, 1, 1, 0, 0, 0, 1, 1], 1), age]);
  expect(Number(age.split(' ').at(-1))).toBeLessThan(60);
});

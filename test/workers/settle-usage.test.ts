import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { monthOf, usageEntry, usageKey } from '../../src/domains/quotas/usage.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { settleMonthlyUsage } from '../../workers/maintenance/settle-usage.ts';
import { connectQueue } from '../../workers/start-workers.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { limitedProject, spanQuota } from '../support/limits.ts';
import { aSpan } from '../support/spans.ts';
import { sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let redis: Redis;
let clickhouse: ClickHouse;
beforeAll(async () => {
  api = await startApi();
  redis = connectWorkerRedis(inject('redisUrl'));
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
  await api.close();
});

/** As two minutes from now, when the minute of the test's bodies is over. */
function settle(): Promise<void> {
  const deps = {
    redis,
    clickhouse,
    postgres: api.postgres,
    ingest: connectQueue(jobCatalog.ingestBody.queue, redis),
    isolation: connectQueue(jobCatalog.isolateBody.queue, redis),
    logger: createLogger({ level: 'error', name: 'test' }),
  };
  return settleMonthlyUsage(deps, { nowMs: Date.now() + 120_000, requestMsMax: 0, everyMs: 0 });
}

/** Bodies of other tests that are not stored yet may hold up settling. */
async function untilUsed(project: ProjectOfTest, used: number): Promise<void> {
  let last = -1;
  const isRight = async () => {
    await settle();
    last = (await spanQuota(api, project)).used;
    return last === used;
  };
  await until('the use is right', 10_000, isRight).catch((error: Error) => {
    throw new Error(`${error.message}: ${last} instead of ${used}`);
  });
}

async function stored(project: ProjectOfTest, spans: number): Promise<void> {
  const { traceId } = aSpan();
  await sendSpans(
    api,
    project.key,
    Array.from({ length: spans }, () => aSpan({ traceId })),
  );
  await untilStored(api, project, traceId, spans);
}

describe('settling the month', () => {
  test('gives back what was counted and never stored', async () => {
    const project = await newProject(api, 'free');
    await stored(project, 4);
    const { key, slot } = usageEntry(project.workspaceId, 'spans', Date.now());
    await redis.multi().hincrby(key, 'total', 1_000).hincrby(key, slot, 1_000).exec();
    expect((await spanQuota(api, project)).used).toBe(1_004);
    await untilUsed(project, 4);
  });

  test('counts a span once that was sent twice with a difference', async () => {
    const project = await newProject(api, 'free');
    const span = aSpan();
    await sendSpans(api, project.key, [{ ...span, name: 'before' }]);
    await sendSpans(api, project.key, [{ ...span, name: 'after' }]);
    await untilStored(api, project, span.traceId);
    expect((await spanQuota(api, project)).used).toBe(2);
    await untilUsed(project, 1);
  });

  test('leaves alone what comes meanwhile', async () => {
    const project = await newProject(api, 'free');
    await stored(project, 2);
    const later = usageEntry(project.workspaceId, 'spans', Date.now() + 300_000);
    await redis.multi().hincrby(later.key, 'total', 30).hincrby(later.key, later.slot, 30).exec();
    await untilUsed(project, 32);
    await untilUsed(project, 32);
  });

  test('builds the counters anew that Redis has lost', async () => {
    const project = await limitedProject(api, { quotas: { spans: 10 } });
    await stored(project, 10);
    const month = monthOf(Date.now());
    await redis.del(usageKey(project.workspaceId, 'spans', month), `promptlane:usage-rebuilt:${month.name}`);
    expect((await spanQuota(api, project)).used).toBe(0);
    await untilUsed(project, 10);
    await expect(sendSpans(api, project.key, [aSpan()])).rejects.toThrow('402');
  });

  test('does not give back what may have reached its retention', async () => {
    const project = await limitedProject(api, { retention_days: 1 }, 'free');
    const { key, slot } = usageEntry(project.workspaceId, 'spans', Date.now());
    await redis.multi().hincrby(key, 'total', 70).hincrby(key, slot, 70).exec();
    await settle();
    const { period } = { period: monthOf(Date.now()) };
    const isFirstDay = Date.now() + 120_000 - period.startMs < 86_400_000;
    expect((await spanQuota(api, project)).used).toBe(isFirstDay ? 0 : 70);
  });
});

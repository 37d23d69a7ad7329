import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { settleCounter } from '../../src/domains/quotas/settle-counter.ts';
import { type SettleUsageDeps, settleMonthlyUsage } from '../../src/domains/quotas/settle-monthly-usage.ts';
import { monthOf, slotNumber, usageEntry } from '../../src/domains/quotas/usage.ts';
import { newId } from '../../src/lib/ids.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { backlogKey, usageKey, usageRebuiltKey } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { quotaReached } from '../../workers/processors.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { startClickHouseProxy } from '../support/clickhouse-proxy.ts';
import { limitedProject, spanQuota } from '../support/limits.ts';
import { aSpan } from '../support/spans.ts';
import { sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let redis: Redis;
let clickhouse: ClickHouse;
/** One connection, so that it keeps its view. */
let postgres: Postgres;
beforeAll(async () => {
  api = await startApi();
  redis = connectWorkerRedis(inject('redisUrl'));
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  postgres = connectPostgres(inject('databaseUrl'), 1);
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([clickhouse.close(), postgres.destroy(), api.close()]);
});

/**
 * Settles these projects' workspaces alone, also those without a counter, and two minutes ahead, when the minute of the
 * test's bodies is over.
 */
async function settle(projects: readonly ProjectOfTest[], given: Partial<SettleUsageDeps> = {}): Promise<void> {
  const ids = projects.map(({ workspaceId }) => `'${workspaceId}'`).join();
  // A temporary view goes before the table: other tests' workspaces are not there.
  await postgres.raw(`CREATE OR REPLACE TEMP VIEW workspaces AS SELECT * FROM public.workspaces WHERE id IN (${ids})`);
  const logger = createLogger({ level: 'silent', name: 'test' });
  const deps = {
    redis,
    clickhouse,
    postgres,
    ingest: [ownQueue()],
    isolation: ownQueue(),
    logger,
    quotaReached,
    ...given,
  };
  await redis.del(usageRebuiltKey(monthOf(Date.now())));
  await settleMonthlyUsage(deps, { nowMs: Date.now(), requestMsMax: -120_000, everyMs: 0 });
}

/** Without the bodies of other tests. */
function ownQueue() {
  return connectQueue(`settle-usage-${randomUUID()}`, redis);
}

/** The worker of this run settles as well, now and then, and does not know that two minutes have gone by. */
async function untilUsed(project: ProjectOfTest, used: number, attempt = () => settle([project])): Promise<void> {
  let last = -1;
  const isRight = async () => {
    await attempt();
    last = (await spanQuota(api, project)).used;
    return last === used;
  };
  await until('the use is right', 30_000, isRight).catch((error: Error) => {
    throw new Error(`${error.message}: ${last} instead of ${used}`);
  });
}

async function loseCounter({ workspaceId }: ProjectOfTest): Promise<void> {
  await redis.del(usageKey(workspaceId, 'spans', monthOf(Date.now())));
}

/** Two projects with two stored spans each, whose counters Redis has lost. */
async function twoWithoutCounters(): Promise<[ProjectOfTest, ProjectOfTest]> {
  const projects: [ProjectOfTest, ProjectOfTest] = [await newProject(api, 'free'), await newProject(api, 'free')];
  for (const project of projects) await stored(project, 2);
  for (const project of projects) await loseCounter(project);
  return projects;
}

/** Counts spans that never come. */
async function enter(project: ProjectOfTest, spans: number, slot?: string): Promise<void> {
  const now = usageEntry(project.workspaceId, 'spans', Date.now());
  await redis
    .multi()
    .hincrby(now.key, 'total', spans)
    .hincrby(now.key, slot ?? now.slot, spans)
    .exec();
}

function bodyReceivedAt(workspaceId: string, receivedAtMs: number): IngestBodyPayload {
  const facts = { projectId: 'prj_of_nobody', retentionDays: 0, inflatedBytes: 1, spans: 1, receivedAtMs };
  return { v: 1, workspaceId, encoding: 'json', coding: 'identity', ...facts };
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
  test('counts a span twice that was sent twice with a difference', async () => {
    const project = await newProject(api, 'free');
    const span = aSpan();
    await sendSpans(api, project.key, [{ ...span, name: 'before' }]);
    await sendSpans(api, project.key, [{ ...span, name: 'after' }]);
    await untilStored(api, project, span.traceId);
    await settle([project]);
    expect((await spanQuota(api, project)).used).toBe(2);
  });

  test('leaves alone what comes meanwhile', async () => {
    const project = await newProject(api, 'free');
    await stored(project, 2);
    await loseCounter(project);
    await enter(project, 30, String(slotNumber(Date.now() + 300_000)));
    await untilUsed(project, 32);
    await settle([project]);
    expect((await spanQuota(api, project)).used).toBe(32);
  });

  test('has no effect if another one has settled since, or settled later minutes', async () => {
    const nowMs = Date.now();
    const key = usageKey(newId('wsp'), 'spans', monthOf(nowMs));
    await redis.hset(key, { total: 90, 100: 40, 101: 50 });
    const settled = { key, expiresAtS: Math.ceil(nowMs / 1_000) + 60 };
    expect(await settleCounter(redis, { ...settled, stored: 40, firstOpenSlot: 101, nowMs })).toBe(0);
    expect(await settleCounter(redis, { ...settled, stored: 0, firstOpenSlot: 100, nowMs: nowMs - 1 })).toBe(0);
    const left = { total: '90', 101: '50', settled_at_ms: String(nowMs), settled_slot: '101' };
    expect(await redis.hgetall(key)).toEqual(left);
    // A body of that minute is replayed from the quarantine, and its minute is unfinished again.
    expect(await settleCounter(redis, { ...settled, stored: 10, firstOpenSlot: 70, nowMs: nowMs + 60_000 })).toBe(0);
    expect(await redis.hgetall(key)).toEqual({ ...left, settled_at_ms: String(nowMs + 60_000) });
    expect(await settleCounter(redis, { ...settled, stored: 91, firstOpenSlot: 102, nowMs: nowMs + 60_000 })).toBe(1);
  });

  test('builds the counters anew that Redis has lost', async () => {
    const project = await limitedProject(api, { quotas: { spans: 10 } });
    await stored(project, 10);
    const month = monthOf(Date.now());
    const counter = usageKey(project.workspaceId, 'spans', month);
    await redis.del(counter);
    expect((await spanQuota(api, project)).used).toBe(0);
    await untilUsed(project, 10, async () => {
      await redis.del(counter);
      await settle([project]);
    });
    await expect(sendSpans(api, project.key, [aSpan()])).rejects.toThrow('402');
  });

  test.each([
    ['its workspace', (project: ProjectOfTest) => project.workspaceId],
    ['an older version, which does not name its workspace', () => ''],
  ])('leaves alone what was received since the oldest body of %s that waits', async (_whose, workspaceOf) => {
    const project = await newProject(api, 'free');
    await stored(project, 3);
    await loseCounter(project);
    const ingest = ownQueue();
    await ingest.add('ingestBody', bodyReceivedAt(workspaceOf(project), Date.now() - 60_000));
    await settle([project], { ingest: [ingest] });
    expect((await spanQuota(api, project)).used).toBe(0);
    await ingest.obliterate();
    await untilUsed(project, 3, () => settle([project], { ingest: [ingest] }));
  });

  test('is not held back by a body of another workspace', async () => {
    const [behind, other] = await twoWithoutCounters();
    const ingest = ownQueue();
    await ingest.add('ingestBody', bodyReceivedAt(behind.workspaceId, Date.now() - 3 * 3_600_000));
    await untilUsed(other, 2, () => settle([behind, other], { ingest: [ingest] }));
    expect((await spanQuota(api, behind)).used).toBe(0);
    await ingest.obliterate();
  });

  test('is not held back by more bodies of another workspace than are examined', async () => {
    const [behind, other] = await twoWithoutCounters();
    const ingest = ownQueue();
    const body = bodyReceivedAt(behind.workspaceId, Date.now() - 3 * 3_600_000);
    await ingest.addBulk(
      Array.from({ length: 5_001 }, () => ({ name: 'ingestBody', data: body, opts: { priority: 1 } })),
    );
    // An older version has stored them, so the minutes of their receipts are not known.
    await redis.hset(backlogKey(behind.workspaceId), 'bytes', 5_001);
    await untilUsed(other, 2, () => settle([behind, other], { ingest: [ingest] }));
    expect((await spanQuota(api, behind)).used).toBe(0);
    await redis.del(backlogKey(behind.workspaceId));
    await ingest.obliterate();
  });

  test('takes more workspaces than it asks about at once', async () => {
    const projects = Array.from({ length: 450 }, () => ({ id: newId('prj'), workspaceId: newId('wsp'), key: '' }));
    await api
      .postgres('workspaces')
      .insert(projects.map(({ workspaceId: id }) => ({ id, name: 'one of many', plan: 'free' })));
    await api
      .postgres('projects')
      .insert(projects.map(({ id, workspaceId }) => ({ id, workspace_id: workspaceId, name: 'test' })));
    await Promise.all(projects.map((project) => enter(project, 5)));
    await settle(projects);
    const month = monthOf(Date.now());
    const slots = projects.map(({ workspaceId }) => redis.hget(usageKey(workspaceId, 'spans', month), 'settled_slot'));
    // A settlement that failed leaves none.
    expect(await Promise.all(slots)).not.toContain(null);
  });

  test('a workspace that cannot be counted keeps no other from it', async () => {
    const projects = await Promise.all(Array.from({ length: 5 }, () => newProject(api, 'free')));
    const [uncountable, ...others] = projects as [ProjectOfTest, ...ProjectOfTest[]];
    await Promise.all(projects.map((project) => stored(project, 1)));
    for (const project of projects) await loseCounter(project);
    const proxy = await startClickHouseProxy(inject('clickhouseUrl'));
    proxy.refuse(uncountable.id);
    const behindProxy = connectClickHouse(proxy.url);
    const attempt = () => settle(projects, { clickhouse: behindProxy });
    for (const project of others) await untilUsed(project, 1, attempt);
    expect((await spanQuota(api, uncountable)).used).toBe(0);
    await behindProxy.close();
    await proxy.close();
    await untilUsed(uncountable, 1);
  });

  test('does not give back what was counted and is not stored, or no longer', async () => {
    const project = await newProject(api, 'free');
    await enter(project, 70);
    await settle([project]);
    expect((await spanQuota(api, project)).used).toBe(70);
  });
});

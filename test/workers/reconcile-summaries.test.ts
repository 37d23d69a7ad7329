import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { insertSpans } from '../../src/domains/spans/index.ts';
import { findDifferingTraces } from '../../src/domains/summaries/differing-trace-queries.ts';
import { reconcileSummaries } from '../../src/domains/summaries/reconcile-summaries.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { endSummary, leaseSummaries, listForSummary, withoutPlace } from '../../src/queue/summary-list.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { countsKeys, summariesSweptKey } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { changeTables } from '../support/change-tables.ts';
import { encodedBody } from '../support/encoded-body.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { aModelCall, aSpan, newTraceId } from '../support/spans.ts';
import { listExecutions, sendSpans, untilListed } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let clickhouse: ClickHouse;
let redis: Redis;
/** In which nothing waits. */
let queue: Queue;

beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  redis = connectWorkerRedis(api.config.redisUrl);
  queue = connectQueue(`ingest-of-${randomUUID()}`, redis);
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
  await api.close();
});

async function reconcile(nowMs = Date.now(), list: Redis = redis, ingest: Queue = queue): Promise<void> {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const deps = { clickhouse, postgres: api.postgres, redis: list, ingest: [ingest], isolation: queue, logger };
  await reconcileSummaries(deps, { nowMs });
}

const mendedTotal = async () => Number((await redis.hget(countsKeys.summaries, 'mended')) ?? 0);

/** Spans as a worker stores them that then loses their summary. */
async function storeWithoutSummary(project: ProjectOfTest, traceId: string, spans: number, receivedAtMs: number) {
  const entry = await encodedBody(
    Array.from({ length: spans }, () => aModelCall(1, 1, { traceId })),
    { projectId: project.id, workspaceId: project.workspaceId, receivedAtMs },
  );
  await insertSpans(clickhouse, [entry.encoded.rows]);
}

const dayMs = 86_400_000;

test.each([
  ['just now', 20_000],
  ['nine days ago', 9 * dayMs],
])(
  'spans received %s without an execution are listed after a run, and counted as mended',
  async (_when, agoMs) => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeWithoutSummary(project, traceId, 3, Date.now() - agoMs);
    const before = await mendedTotal();
    await redis.set(summariesSweptKey, Date.now() - agoMs - 60_000);
    const execution = await until('it is listed', 90_000, async () => {
      await reconcile();
      const { body } = await listExecutions(api, project);
      return body.data[0];
    });
    expect(await mendedTotal()).toBeGreaterThan(before);
    expect(execution).toMatchObject({ span_count: 3, usage: { input_tokens: 3 } });
  },
  120_000,
);

test('an execution that was deleted is listed again', async () => {
  const project = await newProject(api);
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  await untilListed(api, project, span.traceId);
  await changeTables({
    query: `DELETE FROM executions WHERE project_id = {id:String} SETTINGS lightweight_deletes_sync = 2`,
    query_params: { id: project.id },
  });
  await reconcile(Date.now() + 10_000);
  await untilListed(api, project, span.traceId);
});

test('an execution that is short of spans received later is mended', async () => {
  const project = await newProject(api);
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  await untilListed(api, project, span.traceId);
  await storeWithoutSummary(project, span.traceId, 4, Date.now());
  await reconcile(Date.now() + 10_000);
  await untilListed(api, project, span.traceId, ({ span_count }) => span_count === 5);
});

test('executions that have all of their spans differ in nothing', async () => {
  const project = await newProject(api);
  const fromMs = Date.now() - 1_000;
  const spans = Array.from({ length: 20 }, () => aSpan());
  await sendSpans(api, project.key, spans);
  for (const { traceId } of spans) await untilListed(api, project, traceId);
  const found = await findDifferingTraces(clickhouse, { fromMs, toMs: Date.now() + 1_000, tracesMax: 10_000, seed: 1 });
  expect(found.filter(({ projectId }) => projectId === project.id)).toEqual([]);
});

describe('what /metrics says of summaries', () => {
  /** Over a database of Redis that no worker looks into. */
  let own: TestApi;
  let list: Redis;
  beforeAll(async () => {
    own = await startApi({ redisUrl: ownRedisUrl(6) });
    list = connectWorkerRedis(own.config.redisUrl);
  });
  afterAll(async () => {
    list.disconnect();
    await own.close();
  });

  async function scraped(): Promise<Record<string, number>> {
    const { text } = await own.call('getMetrics', { adminKey: own.config.adminApiKey });
    const lines = text.matchAll(/^execution_summaries_total\{.*outcome="(\w+)".*\} (\d+)$/gm);
    return Object.fromEntries(Array.from(lines, ([, outcome, count]) => [outcome, Number(count)]));
  }

  test('is 0 of each outcome before anything has happened', async () => {
    expect(await scraped()).toEqual({ listed: 0, failed: 0, mended: 0 });
  });

  test('counts a lost one as mended once, and not one that a worker has on its list, whenever it is done with it', async () => {
    const project = await newProject(own);
    const of = { workspaceId: project.workspaceId, projectId: project.id };
    const [lost, underWay] = [newTraceId(), newTraceId()];
    // Within an hour from now there is nothing else, and no other reconciler looks.
    const receivedAtMs = Date.now() + 3_600_000;
    for (const traceId of [lost, underWay]) await storeWithoutSummary(project, traceId, 3, receivedAtMs);
    const reconcileOver = async (redisOfRun: Redis) => {
      await list.set(summariesSweptKey, receivedAtMs);
      await reconcile(receivedAtMs + 10_000, redisOfRun);
    };
    await listForSummary(list, of, [underWay]);
    const lease = await leaseSummaries(list, of, 10);
    // The worker ends its trace at the worst moment there is: after all looks, right before the others are listed.
    const endThenList = async (script: string, keys: number, ...args: (string | number)[]) => {
      await endSummary(list, lease, underWay, 0);
      return list.eval(script, keys, ...args);
    };
    const interleaved = new Proxy(list, {
      get: (target, name) => (name === 'eval' ? endThenList : Reflect.get(target, name, target)),
    });
    await reconcileOver(interleaved);
    expect(await scraped()).toEqual({ listed: 0, failed: 0, mended: 1 });
    expect(await withoutPlace(list, project.id, [lost, underWay])).toEqual([underWay]);
    // That worker has stored nothing, so its trace is lost as well; the other one has its place and
    // is not counted again.
    await reconcileOver(list);
    expect(await scraped()).toEqual({ listed: 0, failed: 0, mended: 2 });
    expect(await withoutPlace(list, project.id, [lost, underWay])).toEqual([]);
  });
});

test('an unfinished body holds back what its workspace received since, and nothing else', async () => {
  const list = connectWorkerRedis(ownRedisUrl(6));
  const ingest = connectQueue(`ingest-of-${randomUUID()}`, list);
  const [behind, other] = [await newProject(api), await newProject(api)];
  const [before, since, ofOther] = [newTraceId(), newTraceId(), newTraceId()];
  // Within this time there is nothing else, and no other reconciler looks.
  const receivedAtMs = Date.now() + 2 * 3_600_000;
  await storeWithoutSummary(behind, before, 3, receivedAtMs - 1);
  await storeWithoutSummary(behind, since, 3, receivedAtMs);
  await storeWithoutSummary(other, ofOther, 3, receivedAtMs + 1);
  const body = { v: 1, projectId: behind.id, workspaceId: behind.workspaceId, retentionDays: 0, receivedAtMs };
  await ingest.add('ingestBody', { ...body, encoding: 'json', coding: 'identity', inflatedBytes: 1, spans: 1 });
  const lost = async () => [
    ...(await withoutPlace(list, behind.id, [before, since])),
    ...(await withoutPlace(list, other.id, [ofOther])),
  ];
  expect(await lost()).toEqual([before, since, ofOther]);
  await reconcile(receivedAtMs + 10_000, list, ingest);
  expect(await lost()).toEqual([since]);
  await ingest.obliterate();
  await reconcile(receivedAtMs + 10_000, list, ingest);
  expect(await lost()).toEqual([]);
  list.disconnect();
});

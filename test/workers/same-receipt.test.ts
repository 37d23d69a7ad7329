import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { batchKinds } from '../../src/domains/ingestion/store/create-storing.ts';
import { storeBatch } from '../../src/domains/ingestion/store/store-batch.ts';
import { findEarliestLightSpans } from '../../src/domains/spans/light-span-queries.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { encodedBody } from '../support/encoded-body.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { aModelCall, newTraceId, nowNano } from '../support/spans.ts';
import { storedSpanId } from '../support/stored-spans.ts';
import { getExecution, getHierarchy, getTimeline } from '../support/traces.ts';

interface Named {
  span_id: string;
  name: string;
}

const versions = 8;
const receivedAtMs = Date.now();
const begin = nowNano(-60_000);

let api: TestApi;
let project: ProjectOfTest;
let clickhouse: ClickHouse;
let redis: Redis;
beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  // A database that no worker looks into.
  redis = connectWorkerRedis(ownRedisUrl(9));
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([clickhouse.close(), api.close()]);
});

/** The first spans of a trace in one version. Later versions start earlier or later. */
function spansOf(traceId: string, count: number, version: number) {
  return Array.from({ length: count }, (_, index) =>
    aModelCall(1, 1, {
      traceId,
      spanId: storedSpanId(index),
      ...(index > 0 && { parentSpanId: storedSpanId(0) }),
      name: `v${version}`,
      startUnixNano: begin + BigInt(index * 1_000_000 + ((version * 5) % 8) * 1_000),
      endUnixNano: begin + BigInt(index * 1_000_000 + 500_000),
    }),
  );
}

const store = async (bodies: Awaited<ReturnType<typeof encodedBody>>[]) => {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const stopping = new AbortController().signal;
  expect(
    await storeBatch(
      {
        clickhouse,
        logger,
        kind: batchKinds({ clickhouse, redis, logProjects: new LogProjects(redis), logger }).traces,
        stopping,
      },
      bodies,
    ),
  ).toEqual(new Map());
};

/** What every read says of the first two spans. */
async function namesRead(traceId: string): Promise<Record<string, string[]>> {
  const params = { project_id: project.id, trace_id: traceId };
  const spans = (query: Record<string, string | number>) =>
    api.call<{ data: Named[] }>('listSpans', { params, query, key: project.key });
  const [detail, tree, timeline, page, pageWithInput, one, earliest] = await Promise.all([
    getExecution(api, project, traceId),
    getHierarchy(api, project, traceId, { format: 'flat' }),
    getTimeline(api, project, traceId),
    spans({ limit: 2 }),
    spans({ limit: 2, include: 'input' }),
    api.call<Named>('getSpan', { params: { ...params, span_id: storedSpanId(0) }, key: project.key }),
    findEarliestLightSpans(clickhouse, { projectId: project.id, traceId }),
  ]);
  const first = (all: readonly Named[] = []) =>
    [0, 1].map((index) => all.find(({ span_id }) => span_id === storedSpanId(index))?.name ?? 'missing');
  return {
    detail: first(detail.body.spans as unknown as Named[]),
    tree: first(tree.body.nodes as unknown as Named[]),
    timeline: first(timeline.body.spans as unknown as Named[]),
    page: first(page.body.data),
    pageWithInput: first(pageWithInput.body.data),
    one: [one.body.name, one.body.name],
    earliest: first(earliest.map(({ spanId, name }) => ({ span_id: spanId, name }))),
  };
}

describe('spans received several times in one millisecond', () => {
  test.each([
    [2, 'in one insert'],
    [1_200, 'in one insert'],
    [1_200, 'in inserts of their own'],
  ])('of a trace of %i spans, %s: every read shows the last of them', { timeout: 60_000 }, async (count, how) => {
    const traceId = newTraceId();
    const key = { projectId: project.id, workspaceId: project.workspaceId };
    const all = spansOf(traceId, count, 0);
    const before = { ...key, receivedAtMs: receivedAtMs - 1_000 };
    for (const from of [0, 600]) {
      if (from < count) await store([await encodedBody(all.slice(from, from + 600), before)]);
    }
    const bodies = await Promise.all(
      Array.from({ length: versions }, (_, index) =>
        encodedBody(spansOf(traceId, 2, index + 1), { ...key, receivedAtMs }),
      ),
    );
    if (how === 'in one insert') await store(bodies);
    else for (const body of bodies) await store([body]);
    const last = [`v${versions}`, `v${versions}`];
    const read = await namesRead(traceId);
    expect(read).toEqual(Object.fromEntries(Object.keys(read).map((name) => [name, last])));
  });
});

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import type { BatchEntry } from '../../src/domains/ingestion/store/span-batcher.ts';
import { summarizeBatch } from '../../src/domains/ingestion/store/summarize-batch.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { leaseSummaries } from '../../src/queue/summary-list.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import { lightSpan } from '../support/light-span.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { newTraceId } from '../support/spans.ts';
import { storeRecords } from '../support/stored-records.ts';
import { storedSpanId, storeSpans } from '../support/stored-spans.ts';

let api: TestApi;
let clickhouse: ClickHouse;
let redis: Redis;
beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  // A database that no worker looks into.
  redis = connectWorkerRedis(ownRedisUrl(9));
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([clickhouse.close(), api.close()]);
});

/** A body of so many spans of a trace, from the span with this index. */
function bodyOf(project: ProjectOfTest, traceId: string, from: number, count: number): BatchEntry {
  const lightSpans = Array.from({ length: count }, (_, index) =>
    lightSpan({ traceId, spanId: storedSpanId(from + index), receivedAtMs: Date.now() }),
  );
  return {
    jobId: randomUUID(),
    receivedAtMs: Date.now(),
    projectId: project.id,
    workspaceId: project.workspaceId,
    encoded: {
      rows: { bytes: Buffer.alloc(0), rowCount: count },
      spanCount: count,
      traces: [{ traceId, spans: count }],
      lightSpans,
    } as never,
  };
}

const summarize = (entries: readonly BatchEntry[], through = clickhouse) =>
  summarizeBatch(
    { clickhouse: through, redis, logProjects: new LogProjects(redis), logger: pino({ level: 'silent' }) },
    entries,
  );

const listed = async (project: ProjectOfTest) =>
  (await leaseSummaries(redis, { workspaceId: project.workspaceId, projectId: project.id }, 10)).traceIds;

const executions = (project: ProjectOfTest) =>
  allRows<{ spans: number }>(
    clickhouse,
    `SELECT span_count::UInt32 AS spans FROM executions WHERE project_id = '${project.id}'`,
  );

describe('a batch with more rows of a trace than a small trace has', () => {
  test('puts the trace on the list, even if its spans are at hand, because others may be stored', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: 5_100 });
    await summarize([0, 700, 1_400].map((from) => bodyOf(project, traceId, 3_000 + from, 700)));
    expect(await listed(project)).toEqual([traceId]);
    expect(await executions(project)).toEqual([]);
  });
});

describe('a batch with all spans of a small trace', () => {
  test('summarizes it at once', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: 1_400 });
    await summarize([0, 700].map((from) => bodyOf(project, traceId, from, 700)));
    expect(await listed(project)).toEqual([]);
    expect(await executions(project)).toEqual([{ spans: 1_400 }]);
  });
});

describe('a batch of very many projects of one workspace', () => {
  test('summarizes twenty of them, and leaves the others on the list', async () => {
    const workspaceId = `wsp_${randomUUID()}`;
    const projects = Array.from({ length: 22 }, () => ({ id: `prj_${randomUUID()}`, workspaceId }) as ProjectOfTest);
    await summarize(projects.map((project) => bodyOf(project, newTraceId(), 0, 1)));
    const lists = await Promise.all(projects.map(listed));
    const stored = await Promise.all(projects.map(executions));
    expect(lists.map(({ length }) => length)).toEqual([...Array(20).fill(0), 1, 1]);
    expect(stored.map(({ length }) => length)).toEqual([...Array(20).fill(1), 0, 0]);
  });
});

describe('a batch of a project with few rows and one with many', () => {
  test('stores the executions of the few before it looks at the traces of the many', async () => {
    const [few, many] = await Promise.all([newProject(api), newProject(api)]);
    const traces = { few: newTraceId(), many: newTraceId() };
    await storeSpans(clickhouse, few, { traceId: traces.few, count: 3 });
    await storeSpans(clickhouse, many, { traceId: traces.many, count: 300 });
    const calls: string[] = [];
    const observed = new Proxy(clickhouse, {
      get(client, name) {
        const member: unknown = Reflect.get(client, name);
        if (typeof member !== 'function') return member;
        return (params: { query: string; query_params?: { projectId?: string } }) => {
          const projectId = params.query_params?.projectId;
          if (projectId === many.id) calls.push('read of the many');
          if (params.query.startsWith('INSERT')) calls.push('insert');
          return member.call(client, params);
        };
      },
    });
    await summarize([bodyOf(many, traces.many, 0, 300), bodyOf(few, traces.few, 0, 3)], observed);
    expect(calls).toEqual(['insert', 'read of the many', 'insert']);
    expect([await executions(few), await executions(many)]).toEqual([[{ spans: 3 }], [{ spans: 300 }]]);
  });
});

describe('projects of one workspace whose spans lack log records', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('share the time that a join may take; the others have their own', async () => {
    const [slow, sibling, other] = await Promise.all([newProject(api), newProject(api), newProject(api)]);
    const traceId = newTraceId();
    const logProjects = new LogProjects(redis);
    for (const project of [slow, sibling, other]) {
      await logProjects.note(project.id);
      await storeSpans(clickhouse, project, { traceId, count: 1 });
      await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
    }
    const exec: ClickHouse['exec'] = (params) => {
      if (params.query_params?.projectId === slow.id) vi.advanceTimersByTime(501);
      return clickhouse.exec(params);
    };
    const { workspaceId } = slow;
    const bodies = [slow, { ...sibling, workspaceId }, other].map((project) => bodyOf(project, traceId, 0, 1));
    await summarize(bodies, Object.assign(Object.create(clickhouse), { exec }));
    const joined = await Promise.all(
      [sibling, other].map(({ id }) =>
        allRows(clickhouse, `SELECT 1 FROM spans FINAL WHERE project_id = '${id}' AND log_records > 0`),
      ),
    );
    expect(joined.map(({ length }) => length)).toEqual([0, 1]);
    expect(await listed({ ...sibling, workspaceId })).toEqual([traceId]);
  });
});

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { joinBatch } from '../../src/domains/ingestion/store/join-batch.ts';
import type { BatchEntry } from '../../src/domains/ingestion/store/span-batcher.ts';
import { countFewRecords } from '../../src/domains/log-records/count-few-records.ts';
import { countRecords } from '../../src/domains/log-records/count-records.ts';
import { findEvaluations } from '../../src/domains/log-records/find-evaluations.ts';
import { findUnjoined, findUnjoinedOfLarge } from '../../src/domains/log-records/find-unjoined.ts';
import { findRecordsOf, joinAtOnce, joinHere, joinInThread, joinRecords } from '../../src/domains/log-records/reads.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { leaseSummaries } from '../../src/queue/summary-list.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { logProjectsKey } from '../../src/stores/redis/names.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
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

const recordsOf = (project: ProjectOfTest, traceId: string) =>
  allRows<{ span: string; records: number }>(
    clickhouse,
    `SELECT lower(hex(span_id)) AS span, log_records::UInt32 AS records FROM spans FINAL
     WHERE project_id = '${project.id}' AND trace_id = unhex('${traceId}') AND log_records > 0 ORDER BY span`,
  );

describe('a batch with log records of a project that cannot be looked up', () => {
  test('joins those of the others, and puts its traces on the list', async () => {
    const [refused, other] = await Promise.all([newProject(api), newProject(api)]);
    const traceId = newTraceId();
    for (const project of [refused, other]) {
      await storeSpans(clickhouse, project, { traceId, count: 1 });
      await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
    }
    const exec: ClickHouse['exec'] = (params) =>
      params.query_params?.projectId === refused.id
        ? Promise.reject(new Error('refused by the test'))
        : clickhouse.exec(params);
    await joinBatch(
      {
        clickhouse: Object.assign(Object.create(clickhouse), { exec }),
        redis,
        logProjects: new LogProjects(redis),
        logger: pino({ level: 'silent' }),
      },
      [refused, other].map((project) => bodyOf(project, traceId)),
    );
    const listed = await leaseSummaries(redis, { workspaceId: refused.workspaceId, projectId: refused.id }, 10);
    expect(listed.traceIds).toEqual([traceId]);
    expect(await recordsOf(other, traceId)).toEqual([{ span: storedSpanId(0), records: 1 }]);
  });
});

describe('a body of log records that a worker had joined before it was killed', () => {
  test.each([
    [true, 'puts the trace with its span on the list, although no record is missing'],
    [false, 'puts no trace on the list where it was not begun before'],
  ])('begun before: %s: %s', async (isRepeated) => {
    const project = await newProject(api);
    const [joined, without] = [newTraceId(), newTraceId()];
    await storeSpans(clickhouse, project, { traceId: joined, count: 1 });
    await storeRecords(clickhouse, project, { traceId: joined, spanId: storedSpanId(0) });
    await joinRecords(clickhouse, { projectId: project.id, traceIds: [joined] }, joinHere);
    await joinBatch(
      { clickhouse, redis, logProjects: new LogProjects(redis), logger: pino({ level: 'silent' }) },
      [joined, without].map((traceId) => ({ ...bodyOf(project, traceId), isRepeated })),
    );
    const { traceIds } = await leaseSummaries(redis, { workspaceId: project.workspaceId, projectId: project.id }, 10);
    expect(traceIds).toEqual(isRepeated ? [joined] : []);
  });
});

describe('a batch with more log records than there is time for', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('puts the traces with spans on the list; those without wait for their spans, and take no place', async () => {
    const project = await newProject(api);
    const [withSpan, without] = [newTraceId(), newTraceId()];
    await storeSpans(clickhouse, project, { traceId: withSpan, count: 1 });
    const exec: ClickHouse['exec'] = (params) => {
      vi.advanceTimersByTime(10_000);
      return clickhouse.exec(params);
    };
    const deps = {
      ...{ clickhouse: Object.assign(Object.create(clickhouse), { exec }), redis, logProjects: new LogProjects(redis) },
      logger: pino({ level: 'silent' }),
    };
    // The first look takes all of the time of the workspace.
    await joinBatch(deps, [bodyOf(project, newTraceId())]);
    await joinBatch(
      deps,
      [withSpan, without].map((traceId) => bodyOf(project, traceId)),
    );
    const { traceIds } = await leaseSummaries(redis, { workspaceId: project.workspaceId, projectId: project.id }, 10);
    expect(traceIds).toEqual([withSpan]);
  });
});

describe('the projects with log records', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('are told to Redis again after a minute, in case it has lost its data', async () => {
    const [logged, asked] = [`prj_${randomUUID()}`, `prj_${randomUUID()}`];
    const projects = new LogProjects(redis);
    for (const id of [logged, asked]) await projects.note(id);
    await redis.del(logProjectsKey);
    await projects.note(logged);
    expect(await redis.smembers(logProjectsKey)).toEqual([]);
    vi.advanceTimersByTime(60_001);
    await projects.note(logged);
    expect(await projects.among([asked, `prj_${randomUUID()}`])).toEqual(new Set([asked]));
    expect(await new LogProjects(redis).among([logged, asked])).toEqual(new Set([logged, asked]));
  });
});

describe('projects of one workspace in a batch with log records', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('share the time that a join may take; the others have their own', async () => {
    const [slow, sibling, other] = await Promise.all([newProject(api), newProject(api), newProject(api)]);
    const traceId = newTraceId();
    for (const project of [slow, sibling, other]) {
      await storeSpans(clickhouse, project, { traceId, count: 1 });
      await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
    }
    const exec: ClickHouse['exec'] = (params) => {
      if (params.query_params?.projectId === slow.id) vi.advanceTimersByTime(501);
      return clickhouse.exec(params);
    };
    await joinBatch(
      {
        clickhouse: Object.assign(Object.create(clickhouse), { exec }),
        redis,
        logProjects: new LogProjects(redis),
        logger: pino({ level: 'silent' }),
      },
      [slow, sibling, other].map((project) => ({
        ...bodyOf(project, traceId),
        workspaceId: project === other ? other.workspaceId : slow.workspaceId,
      })),
    );
    const { workspaceId } = slow;
    expect((await leaseSummaries(redis, { workspaceId, projectId: sibling.id }, 10)).traceIds).toEqual([traceId]);
    expect(await recordsOf(sibling, traceId)).toEqual([]);
    expect(await recordsOf(other, traceId)).toHaveLength(1);
  });
});

describe('a workspace whose join took very long', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('leaves its traces to the list of summaries, for ten times as long as it was too long', async () => {
    const [slow, other] = await Promise.all([newProject(api), newProject(api)]);
    const traceIds = Array.from({ length: 3 }, newTraceId);
    for (const project of [slow, other]) {
      for (const traceId of traceIds) {
        await storeSpans(clickhouse, project, { traceId, count: 1 });
        await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
      }
    }
    let statements = 0;
    const exec: ClickHouse['exec'] = (params) => {
      if (++statements === 1) vi.advanceTimersByTime(2_500);
      return clickhouse.exec(params);
    };
    const deps = { clickhouse: Object.assign(Object.create(clickhouse), { exec }), logger: pino({ level: 'silent' }) };
    const join = ({ id, workspaceId }: ProjectOfTest, traceId = '') =>
      joinAtOnce(deps, { projectId: id, workspaceId }, [traceId], new Map());
    await join(slow, traceIds[0]);
    const before = statements;
    vi.advanceTimersByTime(4_900);
    expect(await join(slow, traceIds[1])).toEqual({ lacking: [], unseen: [traceIds[1]] });
    expect(statements).toBe(before);
    await join(other, traceIds[1]);
    expect(await recordsOf(other, traceIds[1] ?? '')).toHaveLength(1);
    vi.advanceTimersByTime(1_000);
    await join(slow, traceIds[2]);
    expect(await recordsOf(slow, traceIds[2] ?? '')).toHaveLength(1);
  });
});

describe('very many records', () => {
  const veryMany = 100_001;
  const wanted = { joinedToo: false, endMs: Number.POSITIVE_INFINITY };

  test('of one trace are left to a thread, and those of the others are joined', async () => {
    const project = await newProject(api);
    const [large, ...others] = Array.from({ length: 10 }, newTraceId);
    for (const traceId of [large ?? '', ...others]) {
      await storeSpans(clickhouse, project, { traceId, count: 1 });
      const count = traceId === large ? veryMany : 1;
      await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0), count });
    }
    const found = await findUnjoined(clickhouse, project.id, [large ?? '', ...others], wanted);
    expect(found.large).toEqual([large]);
    expect(found.spans.map(({ traceId }) => traceId).toSorted()).toEqual(others.toSorted());
  });

  test('of one span are not looked up for a body', async () => {
    const project = await newProject(api);
    const span = { traceId: newTraceId(), spanId: storedSpanId(0) };
    await storeRecords(clickhouse, project, { ...span, count: veryMany });
    expect(await findRecordsOf(clickhouse, project.id, [span], Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });

  test('beside few ones in many data parts do not count', async () => {
    const project = await newProject(api);
    const trace_id = "unhex(leftPad(hex(intDiv(number, 2)), 32, '0'))";
    for (let part = 0; part < 12; part++) {
      await storeRecords(clickhouse, project, { traceId: '', spans: 2, count: 30_000, columns: { trace_id } });
    }
    const traceIds = Array.from({ length: 10 }, (_, index) => (index * 1_500).toString(16).padStart(32, '0'));
    const counts = await countFewRecords(clickhouse, project.id, { traceIds });
    expect(counts.map(({ records }) => records)).toEqual(Array(20).fill(12));
  });

  test('that share a large resource are counted without reading it for each', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const resource = `'{"attributes":[],"schemaUrl":"${'x'.repeat(100_000)}"}'`;
    await storeRecords(clickhouse, project, { traceId, spans: 1, count: 2_000, columns: { resource } });
    const memory = { max_memory_usage: '20000000' };
    const counts = await countRecords(clickhouse, project.id, { traceIds: [traceId] }, memory);
    expect(counts).toMatchObject([{ records: 2_000 }]);
  });
});

describe('joining on the main thread', () => {
  const spanId = storedSpanId(0);
  test.each([
    ['an evaluation of a trace of more than 2,000 rows', { stored: 2_001, records: {} }],
    [
      'a record with a resource over 128 KiB',
      { stored: 1, records: { spanId, columns: { resource: resourceOf(140_000) } } },
    ],
    [
      'records of one span with different resources, over 128 KiB together',
      { stored: 1, records: { spanId, count: 70, columns: { resource: resourceOf(1_500, 'number') } } },
    ],
    [
      'records of one span with the same large resource',
      { stored: 1, records: { spanId, count: 30, columns: { resource: resourceOf(100_000) } } },
    ],
  ])('leaves %s, and a thread joins it', async (_what, { stored, records }) => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: stored });
    await storeRecords(clickhouse, project, { traceId, ...records });
    const given = { projectId: project.id, traceIds: [traceId] };
    expect(await joinRecords(clickhouse, given, joinHere)).toMatchObject({ large: new Set([traceId]) });
    expect(await recordsOf(project, traceId)).toEqual([]);
    expect(await joinRecords(clickhouse, given, joinInThread)).toMatchObject({ large: new Set(), later: new Set() });
    expect(await recordsOf(project, traceId)).toHaveLength(1);
  });

  test('joins calls whose records share a resource, which counts once for each span', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: 20 });
    const body = `concat('{"stringValue":"', repeat('x', 1000), '"}')`;
    const columns = { body, bytes: '1018', resource: resourceOf(1_500) };
    await storeRecords(clickhouse, project, { traceId, spans: 20, count: 100, columns });
    const given = { projectId: project.id, traceIds: [traceId] };
    const joined = await joinRecords(clickhouse, given, joinHere);
    expect(joined).toMatchObject({ joined: 20, large: new Set(), later: new Set() });
    expect(await recordsOf(project, traceId)).toHaveLength(20);
  });
});

describe('spans that exceed the memory of a statement together', () => {
  test('are joined in parts', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const columns = { attributes_string: "map('key', repeat('x', 300000))" };
    await storeSpans(clickhouse, project, { traceId, count: 200, columns });
    await storeRecords(clickhouse, project, { traceId, spans: 200 });
    const settings = { max_memory_usage: '90000000' };
    const small = connectClickHouse(inject('clickhouseUrl'), { settings });
    const bounds = { ...joinInThread, msMax: Number.POSITIVE_INFINITY };
    const left = await joinRecords(small, { projectId: project.id, traceIds: [traceId] }, bounds);
    await small.close();
    expect(left).toMatchObject({ joined: 200, large: new Set(), later: new Set() });
  });
});

describe('joining without time', () => {
  const noTime = { ...joinInThread, msMax: -1 };

  async function storeOne(columns = {}) {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: 1, columns });
    await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
    return { project, traceId, given: { projectId: project.id, traceIds: [traceId] } };
  }

  test('leaves a trace that lacks records for later', async () => {
    const { project, traceId, given } = await storeOne();
    const left = await joinRecords(clickhouse, given, noTime);
    expect(left).toMatchObject({ joined: 0, large: new Set(), later: new Set([traceId]) });
    expect(await recordsOf(project, traceId)).toEqual([]);
  });

  test.each([
    ['looks through all of a trace that lacks none', 10_000, 0],
    ['leaves even that when it takes too long', 0, 1],
  ])('%s', async (_what, lookMsMax, later) => {
    const { given } = await storeOne({ log_count: '1', log_records: '1' });
    expect((await joinRecords(clickhouse, given, { ...noTime, lookMsMax })).later.size).toBe(later);
  });
});

describe('evaluations of a whole trace', () => {
  test('of many traces together are read up to 4 MiB; the other traces are left', async () => {
    const { project, traceIds } = await storeEvaluated(40);
    const { spans, large } = await findUnjoined(clickhouse, project.id, traceIds, {
      joinedToo: false,
      endMs: Number.POSITIVE_INFINITY,
    });
    expect([...spans.map(({ traceId }) => traceId), ...large].toSorted()).toEqual(traceIds.toSorted());
    const bytes = spans.reduce((sum, span) => sum + span.bytes, 0);
    expect(bytes).toBeGreaterThan(4_000_000);
    expect(bytes).toBeLessThan(5.25 * 1024 * 1024);
    expect(spans.length).toBeLessThan(30);
  });

  test('of many traces together are not read when there is no time', async () => {
    const { project, traceIds } = await storeEvaluated(2);
    const counts = await countRecords(clickhouse, project.id, { traceIds });
    const found = await findEvaluations(clickhouse, project.id, counts, { bytesLeft: 4 * 1024 * 1024, endMs: -1 });
    expect(found.large).toEqual(new Set(traceIds));
    expect(found.shown.size).toBe(0);
  });

  test('come before the records of single spans, also to a root that has both', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: 3 });
    await storeRecords(clickhouse, project, { traceId, spans: 3 });
    await storeRecords(clickhouse, project, { traceId });
    const pages: { spanId: string; known: number }[][] = [];
    for await (const page of findUnjoinedOfLarge(clickhouse, project.id, traceId)) pages.push(page);
    expect(pages[0]).toMatchObject([{ spanId: storedSpanId(0), known: 2 }]);
    expect(
      pages
        .flat()
        .map(({ spanId }) => spanId)
        .toSorted(),
    ).toEqual([0, 1, 2].map(storedSpanId));
  });

  test('stay where they are in a trace of more than 1,000,000 rows', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const columns = { log_count: 'number < 2', trace_log_records: 'number < 2', log_records: '2 * (number < 2)' };
    await storeSpans(clickhouse, project, { traceId, count: 1_000_001, inputChars: 0, columns });
    await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
    await storeRecords(clickhouse, project, { traceId, count: 2 });
    // A record that neither span was made with.
    await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(0) });
    const traces = { projectId: project.id, traceIds: [traceId], joinedToo: true };
    const { later } = await joinRecords(clickhouse, traces, joinInThread);
    expect(later.size).toBe(0);
    const shown = `SELECT span_id, trace_log_records::UInt32 AS evaluations FROM spans FINAL
      WHERE project_id = '${project.id}' AND trace_id = unhex('${traceId}') AND log_records > 0`;
    expect(await allRows(clickhouse, shown)).toMatchObject([{ evaluations: 1 }, { evaluations: 1 }]);
  });

  test('that another span shows now leave room for a record of the span itself', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const columns = { trace_log_records: 'number = 1', log_records: 'number = 1' };
    await storeSpans(clickhouse, project, { traceId, count: 2, columns });
    await storeRecords(clickhouse, project, { traceId });
    await storeRecords(clickhouse, project, { traceId, spanId: storedSpanId(1) });
    await joinRecords(clickhouse, { projectId: project.id, traceIds: [traceId] }, joinHere);
    const shown = `SELECT log_count::UInt32 AS own, trace_log_records::UInt32 AS evaluations FROM spans FINAL
      WHERE project_id = '${project.id}' AND trace_id = unhex('${traceId}') ORDER BY span_id`;
    expect(await allRows(clickhouse, shown)).toEqual([
      { own: 0, evaluations: 1 },
      { own: 1, evaluations: 0 },
    ]);
  });

  test('that name a response of very many spans are shown by the earliest root', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const shared = "if(number = 0, '', 'shared')";
    await storeSpans(clickhouse, project, { traceId, count: 10_001, columns: { response_id: shared } });
    const attributes = `'[{"key":"gen_ai.response.id","value":{"stringValue":"shared"}}]'`;
    await storeRecords(clickhouse, project, { traceId, columns: { attributes } });
    await joinRecords(clickhouse, { projectId: project.id, traceIds: [traceId] }, joinInThread);
    expect(await recordsOf(project, traceId)).toEqual([{ span: storedSpanId(0), records: 1 }]);
  });
});

describe('records of a body of very many spans', () => {
  const countMax = 8_192;

  async function findStored(bytesMax: number) {
    const project = await newProject(api);
    const traceIds = Array.from({ length: 2_048 }, newTraceId);
    const spans = Array.from({ length: countMax }, (_, index) => ({
      traceId: traceIds[index % traceIds.length] ?? '',
      spanId: storedSpanId(index),
    }));
    const trace_id = `[${traceIds.map((id) => `unhex('${id}')`).join(', ')}][number % 2048 + 1]`;
    await storeRecords(clickhouse, project, { traceId: '', spans: countMax, columns: { trace_id } });
    return findRecordsOf(clickhouse, project.id, spans, bytesMax);
  }

  test('are found for each of them', async () => {
    const found = await findStored(8 * 1024 * 1024);
    expect(found?.size).toBe(countMax);
    expect([...(found?.values() ?? [])].every(({ records, known }) => records.length === 1 && known === 1)).toBe(true);
  });

  test('have a common limit of bytes', async () => {
    expect(await findStored(3 * 1024 * 1024)).toBeUndefined();
  });
});

/** Stores traces of one span, each with an evaluation of 200 KB. */
async function storeEvaluated(count: number) {
  const project = await newProject(api);
  const traceIds = Array.from({ length: count }, newTraceId);
  const body = `concat('{"stringValue":"', repeat('x', 200000), '"}')`;
  for (const traceId of traceIds) {
    await storeSpans(clickhouse, project, { traceId, count: 1 });
    await storeRecords(clickhouse, project, { traceId, columns: { body, bytes: '200018' } });
  }
  return { project, traceIds };
}

/** Returns SQL for a resource of about so many bytes, one for each value of `name`, which is SQL. */
function resourceOf(bytes: number, name = "''"): string {
  return `concat('{"attributes":[],"schemaUrl":"', leftPad(toString(${name}), ${bytes}, 'x'), '"}')`;
}

function bodyOf(project: ProjectOfTest, traceId: string): BatchEntry {
  return {
    jobId: randomUUID(),
    receivedAtMs: Date.now(),
    projectId: project.id,
    workspaceId: project.workspaceId,
    encoded: {
      rows: { bytes: Buffer.alloc(0), rowCount: 1 },
      spanCount: 1,
      traces: [{ traceId, spans: 1 }],
    } as never,
  };
}

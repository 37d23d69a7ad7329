import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { countTraceRows, describeTraceRows } from '../../src/domains/spans/index.ts';
import { summarizeLargeTrace } from '../../src/domains/summaries/summarize-large-trace.ts';
import { summarizeSmallTraces } from '../../src/domains/summaries/summarize-stored-traces.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis } from '../../src/stores/redis/client.ts';
import { type Answer, newProject, type ProjectOfTest, type Query, startApi, type TestApi } from '../support/api.ts';
import { changeTables } from '../support/change-tables.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import { encodeSpans, type SpanInput } from '../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId, nowNano } from '../support/spans.ts';
import { storeRecords } from '../support/stored-records.ts';
import { storeSpans } from '../support/stored-spans.ts';
import {
  type ExecutionWire,
  getExecution,
  getHierarchy,
  getTimeline,
  listExecutions,
  postTraces,
} from '../support/traces.ts';
import { until } from '../support/until.ts';

interface SpanPage {
  data: { span_id: string; cost: string | null }[];
  page: { next_cursor: string | null };
}

let api: TestApi;
let clickhouse: ClickHouse;

beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

const begin = nowNano(-3_600_000);
const idOf = (index: number) => (index + 1).toString(16).padStart(16, '0');

/** Calls that cost so many micro-dollars each, under a root that may not have come. */
function calls(traceId: string, count: number, microUsd: number, from = 1): SpanInput[] {
  return Array.from({ length: count }, (_, index) => {
    const startUnixNano = begin + BigInt(from + index) * 1_000n;
    return aModelCall(3, 1, {
      traceId,
      spanId: idOf(from + index),
      parentSpanId: idOf(0),
      startUnixNano,
      endUnixNano: startUnixNano + 500n,
      attributes: { 'gen_ai.usage.cost': microUsd / 1e6 },
    });
  });
}

const fiveDollarRoot = (traceId: string): SpanInput =>
  aModelCall(1, 1, {
    traceId,
    spanId: idOf(0),
    name: 'THE ROOT',
    statusCode: 2,
    startUnixNano: begin + 3_000_000_000n,
    endUnixNano: begin + 4_000_000_000n,
    attributes: { 'gen_ai.usage.cost': 5, 'session.id': 'of the root' },
  });

/** As an exporter does, again when the server is busy. */
async function sendSpans(key: string, spans: readonly SpanInput[]): Promise<void> {
  const body = Buffer.from(encodeSpans('protobuf', spans));
  await until('the spans are taken', 60_000, async () => {
    const { status } = await postTraces(api, key, body);
    expect([200, 429, 503]).toContain(status);
    return status === 200;
  });
}

/** Large traces take their time on a machine that does much else. */
const patienceMs = 90_000;
/** Small ones do not; and so soon no reconciler has mended what was wrong. */
const shortPatienceMs = 15_000;

/** Waits until a trace is listed as `isDone` wants it. */
async function untilListed(
  project: ProjectOfTest,
  traceId: string,
  isDone: (execution: ExecutionWire) => boolean = () => true,
  waitMs = patienceMs,
): Promise<ExecutionWire> {
  let last: unknown;
  return until(`summary of ${traceId}`, waitMs, async () => {
    const { body } = await listExecutions(api, project, { limit: 100 });
    last = body.data.find(({ trace_id }) => trace_id === traceId);
    return body.data.find((each) => each.trace_id === traceId && isDone(each));
  }).catch((error) => {
    throw new Error(`${String(error)}; last: ${JSON.stringify(last)}`);
  });
}

async function sendAll(project: ProjectOfTest, spans: readonly SpanInput[], perBody = 10_000): Promise<void> {
  for (let at = 0; at < spans.length; at += perBody) await sendSpans(project.key, spans.slice(at, at + perBody));
}

/** Waits for a listed state, and takes the execution's own summary at that moment. */
async function listedAndRead(
  project: ProjectOfTest,
  traceId: string,
  isDone: (execution: ExecutionWire) => boolean,
  waitMs?: number,
) {
  const listed = await untilListed(project, traceId, isDone, waitMs);
  const { body } = await getExecution(api, project, traceId);
  const read = Object.fromEntries(Object.keys(listed).map((key) => [key, body[key as keyof ExecutionWire]]));
  return { listed, read };
}

describe('the summary of a large trace', { timeout: 200_000 }, () => {
  test('whose root comes after 30,000 children is that of all of them, listed as read, and found by its status', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const children = calls(traceId, 30_000, 0);
    await Promise.all([0, 1, 2].map((n) => sendSpans(project.key, children.slice(n * 10_000, (n + 1) * 10_000))));
    await untilListed(project, traceId, ({ span_count }) => span_count === 30_000);
    await sendSpans(project.key, [fiveDollarRoot(traceId)]);
    const { listed, read } = await listedAndRead(project, traceId, ({ span_count }) => span_count === 30_001);
    expect(listed).toMatchObject({
      name: 'THE ROOT',
      status: 'error',
      complete: true,
      cost: '5.000000',
      session_id: 'of the root',
      error_count: 1,
      totals_truncated: false,
      usage: { input_tokens: 90_001 },
    });
    expect(read).toEqual(listed);
    const { body } = await listExecutions(api, project, { status: 'error' });
    expect(body.data.map(({ trace_id }) => trace_id)).toEqual([traceId]);
  });

  test('that is sent again and again with other costs is that of the last time', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    for (let state = 1; state <= 6; state++) await sendAll(project, calls(traceId, 9_000, state * 1_000), 4_500);
    const { listed, read } = await listedAndRead(project, traceId, ({ cost }) => Number(cost) === 54);
    expect(listed).toMatchObject({ span_count: 9_000, usage: { input_tokens: 27_000 } });
    expect(read).toEqual(listed);
  });

  test('whose 5,000 spans were sent five times, in 25,000 rows, is that of 5,000, and so is every read of it', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const columns = { start_unix_nano: `${begin} + number * 1000`, end_unix_nano: `${begin} + number * 1000 + 500` };
    // The engine merges the rows of one month only, so what was received in others stays there.
    for (let months = 4; months > 0; months--) {
      const received_at = `now64(3) - toIntervalMonth(${months})`;
      await storeSpans(clickhouse, project, { traceId, count: 5_000, columns: { ...columns, received_at } });
    }
    const last = calls(traceId, 5_000, 5_000, 0).map((span) => ({ ...span, parentSpanId: '' }));
    await sendSpans(project.key, last);
    const { listed, read } = await listedAndRead(project, traceId, ({ cost }) => Number(cost) === 25);
    expect(listed).toMatchObject({ span_count: 5_000, usage: { input_tokens: 15_000 } });
    expect(read).toEqual(listed);

    const params = { project_id: project.id, trace_id: traceId };
    const costsOf = (spans: readonly { cost: string | null }[] = []) => [
      spans.length,
      new Set(spans.map(({ cost }) => cost)),
    ];
    const all = [5_000, new Set(['0.005000'])];
    const { body: detail } = await getExecution(api, project, traceId, { include: 'input' });
    const { body: tree } = await getHierarchy(api, project, traceId, { format: 'flat' });
    const { body: timeline } = await getTimeline(api, project, traceId);
    expect([detail.truncated, tree.truncated, timeline.truncated]).toEqual([false, false, false]);
    expect([tree.span_count, timeline.span_count]).toEqual([5_000, 5_000]);
    expect(costsOf(detail.spans)).toEqual(all);
    expect(costsOf(tree.nodes)).toEqual(all);
    expect(costsOf(timeline.spans)).toEqual(all);
    const pages: SpanPage['data'] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: Query = { limit: 1_000, include: 'input', ...(cursor !== '' && { cursor }) };
      const { body }: Answer<SpanPage> = await api.call<SpanPage>('listSpans', { params, query, key: project.key });
      pages.push(...body.data);
      cursor = body.page.next_cursor;
    }
    expect(costsOf(pages)).toEqual(all);
    expect(new Set(pages.map(({ span_id }) => span_id)).size).toBe(5_000);
  });

  test('of 50,000 spans and one more has them all, and the others of its project are listed at once meanwhile', async () => {
    const [large, other] = await Promise.all([newProject(api), newProject(api)]);
    const timesToListed = async (count: number) => {
      const times: number[] = [];
      for (let n = 0; n < count; n++) {
        const startedAtMs = performance.now();
        const span = aSpan();
        await sendSpans(other.key, [span]);
        await untilListed(other, span.traceId);
        times.push(performance.now() - startedAtMs);
      }
      return times.sort((a, b) => a - b);
    };
    const traceId = newTraceId();
    await sendAll(large, calls(traceId, 50_000, 10));
    await untilListed(large, traceId, ({ span_count }) => span_count === 50_000);
    const alone = await timesToListed(6);
    let more = 0;
    let sending = true;
    const feed = (async () => {
      while (sending) await sendSpans(large.key, calls(traceId, 1, 10, 50_001 + more++));
    })();
    const beside = await timesToListed(6);
    sending = false;
    await feed;
    // The median: a hiccup of the machine is none of the trace's.
    expect(beside[3]).toBeLessThan(2 * (alone[3] ?? 0) + 300);
    const { listed, read } = await listedAndRead(large, traceId, ({ span_count }) => span_count === 50_000 + more);
    expect(listed.complete).toBe(false);
    expect(Number(listed.cost)).toBeCloseTo((50_000 + more) / 100_000, 9);
    expect(read).toEqual(listed);
  });
});

describe('a trace with texts of hostile length', { timeout: 200_000 }, () => {
  test('costs the executions that come in the same batch nothing, and is summed up too', async () => {
    const [hostile, victim] = await Promise.all([newProject(api), newProject(api)]);
    const traceId = newTraceId();
    const long = (n: number) => `${n}`.padEnd(1_024, '文');
    const spans = Array.from({ length: 1_900 }, (_, n) =>
      aSpan({
        traceId,
        spanId: idOf(n),
        attributes: { 'session.id': long(n), 'user.id': long(n), 'gen_ai.response.id': long(n) },
      }),
    );
    await sendAll(hostile, spans, 600);
    for (let n = 0; n < 3; n++) {
      const span = aSpan();
      await Promise.all([sendSpans(hostile.key, [aSpan({ traceId })]), sendSpans(victim.key, [span])]);
      await untilListed(victim, span.traceId);
    }
    await untilListed(hostile, traceId, ({ span_count }) => span_count === 1_903);
  });
});

test('the rows of a trace are described: all, distinct spans, and those received last', async () => {
  const project = await newProject(api);
  const [twice, many] = [newTraceId(), newTraceId()];
  const receivedAt = (index: string) => ({
    received_at: `fromUnixTimestamp64Milli(1800000000000 + toInt64(${index}))`,
  });
  await storeSpans(clickhouse, project, { traceId: twice, count: 3, columns: receivedAt('0') });
  await storeSpans(clickhouse, project, { traceId: twice, count: 2, columns: receivedAt('7') });
  await storeSpans(clickhouse, project, { traceId: many, count: 101, columns: receivedAt('number') });
  const described = await describeTraceRows(clickhouse, project.id, [twice, many, newTraceId()]);
  const latestMs = 1_800_000_000_000;
  expect(Object.fromEntries(described)).toEqual({
    [twice]: { traceId: twice, rows: 5, spans: 2 + 1, latestMs: latestMs + 7, latestRows: 2 },
    [many]: { traceId: many, rows: 101, spans: null, latestMs: latestMs + 100, latestRows: 1 },
  });
});

describe('the two ways of summing up', () => {
  const kinds = ['llm', 'agent', 'tool', 'other'];
  /** A tree of several shapes: chains, orphans, several roots or none, spans that say little. */
  const someSpans = (traceId: string, seed: number): SpanInput[] =>
    Array.from({ length: 40 }, (_, n) => {
      const start = begin + BigInt((n * 7919 + seed * 31) % 97) * 1_000_000n;
      const text = (every: number, name: string) => ((n + seed) % every === 0 ? { [name]: `${name} ${n % 5}` } : {});
      const parent = n % 11 === 0 ? (seed % 2 === 0 ? '' : newSpanId()) : idOf((n * 3 + seed) % 40);
      return aModelCall(n, seed, {
        traceId,
        spanId: idOf(n),
        name: `span ${n}`,
        statusCode: n % 3,
        parentSpanId: parent === idOf(n) ? '' : parent,
        startUnixNano: n === 5 ? 0n : start,
        endUnixNano: start + 1_000n,
        attributes: {
          'gen_ai.operation.name': kinds[(n + seed) % 4] === 'llm' ? 'chat' : 'execute_tool',
          'gen_ai.response.model': `model ${n % 7}`,
          'gen_ai.input.messages': `[{"role":"user","content":"question ${n}"}]`,
          'gen_ai.output.messages': `[{"role":"assistant","content":"answer ${n}"}]`,
          ...text(3, 'session.id'),
          ...text(4, 'user.id'),
          ...text(2, 'gen_ai.response.id'),
          ...text(5, 'gen_ai.prompt.name'),
          ...(n % 6 === seed % 6 ? { 'langfuse.trace.tags': `["tag ${n % 3}","seed ${seed}"]` } : {}),
        },
      });
    });

  test('say the same of the same spans, whichever was sent again', async () => {
    const project = await newProject(api);
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const traceId = newTraceId();
      const spans = someSpans(traceId, seed);
      await sendSpans(project.key, spans);
      await sendSpans(
        project.key,
        spans.slice(0, seed * 3).map((span) => ({ ...span, name: 'sent again' })),
      );
      await until('all rows', 30_000, async () => {
        const rows = await countTraceRows(clickhouse, project.id, [traceId]);
        return rows.get(traceId) === 40 + seed * 3;
      });
      const version = 7n;
      const [small] = await summarizeSmallTraces(clickhouse, { projectId: project.id, traceIds: [traceId], version });
      const large = await summarizeLargeTrace(clickhouse, { projectId: project.id, traceId, version });
      expect({ ...large, spansSentOnce: false }).toEqual({ ...small, spansSentOnce: false });
    }
  });

  test('keep the same tags of a trace with many', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const tagsOf = (n: number) => JSON.stringify([`tag ${(n * 7919) % 200}`, `of all ${n % 2}`]);
    const spans = Array.from({ length: 500 }, (_, n) =>
      aSpan({
        traceId,
        spanId: idOf(n),
        startUnixNano: begin + BigInt(n),
        attributes: { 'langfuse.trace.tags': tagsOf(n) },
      }),
    );
    await sendSpans(project.key, spans);
    await untilListed(project, traceId, ({ span_count }) => span_count === 500);
    const version = 7n;
    const [small] = await summarizeSmallTraces(clickhouse, { projectId: project.id, traceIds: [traceId], version });
    const large = await summarizeLargeTrace(clickhouse, { projectId: project.id, traceId, version });
    expect(small?.tags).toHaveLength(64);
    expect(small?.tags.slice(0, 4)).toEqual(['tag 0', 'of all 0', 'tag 119', 'of all 1']);
    expect([large?.tags, large?.omitted.tags]).toEqual([small?.tags, small?.omitted.tags]);
  });

  test('of more spans than are counted: counts, errors, times and the head are of all, and it is marked', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await sendSpans(project.key, [...calls(traceId, 100, 1_000_000), fiveDollarRoot(traceId)]);
    await untilListed(project, traceId, ({ span_count }) => span_count === 101);
    const trace = { projectId: project.id, traceId, version: 1n };
    const whole = await summarizeLargeTrace(clickhouse, trace);
    const short = await summarizeLargeTrace(clickhouse, trace, 40);
    expect([whole?.totalsTruncated, short?.totalsTruncated]).toEqual([false, true]);
    const { name, status, complete, spanCount, errorCount, startUnixNano, endUnixNano, sessionId } = whole ?? {};
    expect(short).toMatchObject({
      name,
      status,
      complete,
      spanCount,
      errorCount,
      startUnixNano,
      endUnixNano,
      sessionId,
    });
    expect([whole?.name, whole?.costNanoUsd, short?.costNanoUsd]).toEqual([
      'THE ROOT',
      105_000_000_000n,
      40_000_000_000n,
    ]);
  });
});

test('a late span of a trace whose early spans retention has removed: its summary is that of what is stored', async () => {
  const project = await newProject(api);
  const traceId = newTraceId();
  const [first, second, third, late] = calls(traceId, 4, 1_000_000);
  if (!first || !second || !third || !late) throw new Error('There are four spans');
  await sendSpans(project.key, [first, second, third]);
  await untilListed(project, traceId, ({ span_count }) => span_count === 3);
  await changeTables({
    query: `DELETE FROM spans WHERE project_id = {projectId:String} AND lower(hex(span_id)) IN {ids:Array(String)}
            SETTINGS lightweight_deletes_sync = 2`,
    query_params: { projectId: project.id, ids: [first.spanId, second.spanId] },
  });
  await sendSpans(project.key, [late]);
  const { listed, read } = await listedAndRead(project, traceId, ({ span_count }) => span_count === 2, shortPatienceMs);
  expect(listed).toMatchObject({ cost: '2.000000', usage: { input_tokens: 6 }, complete: false });
  expect(read).toEqual(listed);
});

describe('the version of a summary', () => {
  test('is larger than that of a row from before, which summed up receipts, and grows with every body', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const versions: bigint[] = [];
    for (let n = 1; n <= 3; n++) {
      await sendSpans(project.key, [aSpan({ traceId })]);
      await untilListed(project, traceId, ({ span_count }) => span_count === n);
      const [row] = await allRows<{ version: string }>(
        clickhouse,
        `SELECT max(version) AS version FROM executions WHERE project_id = '${project.id}'`,
      );
      versions.push(BigInt(row?.version ?? 0));
    }
    // The largest there was: 20,000 spans received in the year 2035, each counted in milliseconds since 2025.
    expect(versions[0]).toBeGreaterThan(20_000n * 315_532_800_000n);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => (a < b ? -1 : 1)));
  });
});

describe('a trace whose log records cannot be joined', () => {
  test('has its summary', async () => {
    const project = await newProject(api);
    const span = aSpan();
    await storeRecords(clickhouse, project, { ...span, columns: { body: "'no JSON'" } });
    const redis = connectWorkerRedis(inject('redisUrl'));
    await new LogProjects(redis).note(project.id).finally(() => redis.disconnect());
    await sendSpans(project.key, [span]);
    await untilListed(project, span.traceId, ({ span_count }) => span_count === 1);
  });
});

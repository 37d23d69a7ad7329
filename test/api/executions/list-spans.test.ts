import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpanWire } from '../../../src/domains/executions/span.schema.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions } from '../../support/executions.ts';
import { newTraceId } from '../../support/spans.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { type ExecutionDetailWire, getExecution } from '../../support/traces.ts';

type Detail = ExecutionDetailWire & { spans_truncated: boolean; spans_next_cursor: string | null };
interface Page {
  data: SpanWire[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}

let api: TestApi;
let project: ProjectOfTest;
let store: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  store = connectExecutions(api);
});
afterAll(async () => {
  await store.close();
  await api.close();
});

function listSpans(traceId: string, query: Readonly<Record<string, string | number>> = {}) {
  const params = { project_id: project.id, trace_id: traceId };
  return api.call<Page>('listSpans', { params, query, key: project.key });
}

/** The ids of all spans from a cursor on, and the most bytes that one page had. */
async function walk(traceId: string, query: Readonly<Record<string, string | number>>, from: string | null = null) {
  const ids: string[] = [];
  let bytesMost = 0;
  let cursor = from;
  do {
    const { status, text, body } = await listSpans(traceId, { ...query, ...(cursor && { cursor }) });
    expect(status, text.slice(0, 500)).toBe(200);
    expect(body.page.has_more).toBe(body.page.next_cursor !== null);
    ids.push(...body.data.map(({ span_id }) => span_id));
    bytesMost = Math.max(bytesMost, text.length);
    cursor = body.page.next_cursor;
  } while (cursor !== null);
  return { ids, bytesMost };
}

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => storedSpanId(index));
const mebibyte = 1024 * 1024;

describe('200', () => {
  test('pages have the spans in order of start, each once', async () => {
    const traceId = newTraceId();
    await storeSpans(store.clickhouse, project, { traceId, count: 25 });
    const { body } = await listSpans(traceId, { limit: 10 });
    expect(body.data.map(({ span_id }) => span_id)).toEqual(idsOf(10));
    expect(body.data[0]).toMatchObject({ name: 'work 0', input: 'xxxxxxxxxx', parent_span_id: null, large_parts: [] });
    expect((await walk(traceId, { limit: 10 })).ids).toEqual(idsOf(25));
    expect((await walk(traceId, { limit: 25 })).ids).toEqual(idsOf(25));
  });

  test('a page is bounded in bytes, in an execution too, and the rest is read by its cursor', async () => {
    const traceId = newTraceId();
    await storeSpans(store.clickhouse, project, { traceId, count: 300, inputChars: 100_000 });
    const { text, body } = await getExecution(api, project, traceId);
    const detail = body as Detail;
    expect(text.length).toBeLessThan(9 * mebibyte);
    expect(detail).toMatchObject({ span_count: 300, spans_truncated: true, truncated: true });
    expect(detail.spans.length).toBeGreaterThan(50);
    const { ids, bytesMost } = await walk(traceId, { limit: 1_000 }, detail.spans_next_cursor);
    expect([...detail.spans.map(({ span_id }) => span_id), ...ids]).toEqual(idsOf(300));
    expect(bytesMost).toBeLessThan(9 * mebibyte);
  });

  test('a trace of more spans than a tree shows is walked to its end', async () => {
    const traceId = newTraceId();
    await storeSpans(store.clickhouse, project, { traceId, count: 20_500 });
    const cursor = ((await getExecution(api, project, traceId, { include: 'input' })).body as Detail).spans_next_cursor;
    const { ids } = await walk(traceId, { limit: 1_000, include: 'input' }, cursor);
    expect(ids.at(-1)).toBe(storedSpanId(20_499));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('a span that was sent many times is there once, as received last', async () => {
    const traceId = newTraceId();
    for (const [turn, name] of ['first', 'second', 'third', 'last'].entries()) {
      const columns = { name: `'${name}'`, received_at: `now64(3) + toIntervalSecond(${turn})` };
      await storeSpans(store.clickhouse, project, { traceId, count: 30, columns });
    }
    const { body } = await listSpans(traceId, { limit: 100 });
    expect(body.data.map(({ name }) => name)).toEqual(Array(30).fill('last'));
  });

  test('a model call below a span with a prompt has that prompt', async () => {
    const traceId = newTraceId();
    const columns = {
      kind: "if(number = 1, 'llm', 'chain')",
      prompt_name: "if(number = 0, 'greeting', '')",
      prompt_source: "if(number = 0, 'self', '')",
      prompt_version: '3',
    };
    await storeSpans(store.clickhouse, project, { traceId, count: 2, columns });
    const { body } = await listSpans(traceId);
    expect(body.data.map(({ prompt_ref }) => prompt_ref)).toMatchObject([
      { name: 'greeting', source: 'self' },
      { name: 'greeting', source: 'inherited', version: 3 },
    ]);
  });

  test('parts of over a million characters are named, and the spans are bounded all the same', async () => {
    const traceId = newTraceId();
    const attributes = (count: number) =>
      `mapFromArrays(arrayMap(i -> toString(i), range(${count})), arrayMap(i -> repeat('y', 1000000), range(${count})))`;
    await storeSpans(store.clickhouse, project, { traceId, count: 3, columns: { attributes_string: attributes(20) } });
    const { text, body } = await listSpans(traceId);
    expect(text.length).toBeLessThan(mebibyte);
    expect(body.data.length).toBeGreaterThan(0);
    const [part] = body.data[0]?.large_parts ?? [];
    expect(part).toMatchObject({ part: 'attributes', preview: expect.stringMatching(/^\{"0":"yyy/) });
    expect(part?.chars).toBeGreaterThan(20_000_000);
    expect((await walk(traceId, {})).ids).toEqual(idsOf(3));
  });
});

describe('400', () => {
  test.each([{ limit: 0 }, { limit: 1_001 }, { include: 'everything' }, { pages: '2' }])(
    '%j is refused',
    async (query) => {
      const code = 'pages' in query ? 'unknown_parameter' : 'invalid_parameter';
      expectProblem(await listSpans(newTraceId(), query as Record<string, string>), 400, code);
    },
  );

  test('a cursor of another trace, or of nobody, is refused', async () => {
    const [one, other] = [newTraceId(), newTraceId()];
    for (const traceId of [one, other]) await storeSpans(store.clickhouse, project, { traceId, count: 3 });
    const cursor = (await listSpans(one, { limit: 1 })).body.page.next_cursor ?? '';
    expectProblem(await listSpans(other, { cursor }), 400, 'cursor_mismatch');
    expectProblem(await listSpans(one, { cursor: 'AbCdEf' }), 400, 'invalid_cursor');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('listSpans', { params }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('listSpans', { params, key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test.each([newTraceId(), 'nonsense'])('the trace id %s is unknown', async (traceId) => {
    expectProblem(await listSpans(traceId), 404, 'execution_not_found');
  });

  test("another project's trace is unknown", async () => {
    const traceId = newTraceId();
    await storeSpans(store.clickhouse, await newProject(api), { traceId, count: 1 });
    expectProblem(await listSpans(traceId), 404, 'execution_not_found');
  });
});

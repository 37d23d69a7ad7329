import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { TraceReadInput, TraceReadName } from '../../../src/domains/executions/trace-reads.ts';
import type { TraceThreads } from '../../../src/domains/executions/trace-threads.ts';
import { partNames } from '../../../src/domains/spans/span-detail.ts';
import { newTraceId } from '../../support/spans.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { readAsApi, readDeps, traceThreads, useTraceReads } from '../../support/trace-reads.ts';

const it = useTraceReads();

/** Reads as the API does. `inThread` are the reads that needed a thread. */
async function read<Name extends TraceReadName>(name: Name, input: TraceReadInput<Name>) {
  const inThread: string[] = [];
  const run: TraceThreads['run'] = (...given) => {
    inThread.push(given[0]);
    return it.threads.run(...given);
  };
  const counted: TraceThreads = Object.assign(Object.create(it.threads), { run });
  const deps = readDeps({ clickhouse: it.store.clickhouse, threads: counted });
  return { body: await readAsApi(deps, name, input), inThread };
}

const filter = { kinds: undefined, durationNanoMin: 0n, errorsOnly: false, limit: 20_000 };
const feedback = { score: null, items: [] };

async function stored(count: number, columns: Readonly<Record<string, string>>) {
  const traceId = newTraceId();
  await storeSpans(it.store.clickhouse, it.project, { traceId, count, columns });
  const trace = { projectId: it.project.id, traceId };
  const span = { ...trace, spanId: storedSpanId(0) };
  const include = new Set(partNames);
  return {
    timeline: () => read('getTimeline', { ...trace, skew: true, filter }),
    hierarchy: () => read('getHierarchy', { ...trace, format: 'flat' }),
    span: () => read('getSpan', { ...span, partCharsMax: 1_000_000 }),
    logs: () => read('getSpanPart', { ...span, part: 'logs', offset: 0, limit: 1_000 }),
    input: () => read('getSpanPart', { ...span, part: 'input', offset: 0, limit: 1_000 }),
    spans: () => read('listSpans', { ...trace, limit: 100, include }),
    execution: () => read('getExecution', { ...trace, include, withSpans: true, feedback }),
  };
}

/** SQL for the events of a span. JSON writes U+0001 with six characters. */
const eventsSql = (count: number, name: string) =>
  `concat('[', arrayStringConcat(arrayMap(i -> '{"name":"${name}","timeUnixNano":"5"}', range(${count})), ','), ']')`;
/** SQL for this many million characters; `repeat` takes at most one. */
const millionsSql = (millions: number) =>
  `arrayStringConcat(arrayMap(i -> repeat(char(1), 1000000), range(${millions})))`;
const control = '\\\\u0001';

describe('a tree or a timeline', () => {
  test('with names of events of control characters is made in a thread if it shows them', async () => {
    const { timeline, hierarchy } = await stored(200, { events: eventsSql(64, control.repeat(200)) });
    expect([(await timeline()).inThread, (await hierarchy()).inThread]).toEqual([['getTimeline'], []]);
  });

  test.each<[string, number, Readonly<Record<string, string>>]>([
    ['long names, services and models', 1_000, { ...textsOf(['name', 'service', 'model'], 'repeat(char(1), 1000)') }],
    ['a long name of a scope', 1_000, { ...textsOf(['scope', 'resource'], hostSql("repeat('s', 1001)")) }],
  ])('with %s is made in a thread', async (_, count, columns) => {
    const { timeline, hierarchy } = await stored(count, columns);
    expect([(await timeline()).inThread, (await hierarchy()).inThread]).toEqual([['getTimeline'], ['getHierarchy']]);
  });

  test('of as many spans with as many events as are read without a thread is made without one', async () => {
    const { timeline, hierarchy } = await stored(1_000, { events: eventsSql(64, 'a name of an event') });
    expect([(await timeline()).inThread, (await hierarchy()).inThread]).toEqual([[], []]);
  });

  test('ends before its texts are too long for one answer', async () => {
    const columns = textsOf(['scope', 'resource'], hostSql("repeat('s', 1000)"));
    const { timeline, hierarchy } = await stored(15_000, columns);
    const { body } = await timeline();
    const warnings = [
      expect.stringContaining(`truncated: the trace has more spans. The answer has the first ${body.span_count}`),
    ];
    expect(body).toMatchObject({ truncated: true, span_count: expect.any(Number), warnings });
    expect(body.span_count).toBeGreaterThan(11_000);
    expect(body.span_count).toBeLessThan(12_001);
    expect((await hierarchy()).body).toMatchObject({ truncated: true, span_count: body.span_count, warnings });
  });
});

describe('a span', () => {
  test.each([
    ['trace_state', 9],
    ['status_message', 9],
    ['status_message', 2],
  ])('with %s of %i million characters is read in a thread', async (column, millions) => {
    const { span, execution } = await stored(1, { [column]: millionsSql(millions) });
    const { body, inThread } = await span();
    expect(body[column].length).toBe(millions * 1_000_000);
    expect([inThread, (await execution()).inThread]).toEqual([['getSpan'], ['getExecution']]);
  });

  test('with 9 MB of its name is read in a thread, whatever asks for it, and is a page of its own', async () => {
    const { logs, spans, execution } = await stored(2, { span_name: millionsSql(9) });
    expect((await logs()).inThread).toEqual(['getSpanPart']);
    const page = await spans();
    expect(page.inThread).toEqual(['listSpans']);
    expect(page.body.data).toMatchObject([{ span_id: storedSpanId(0) }]);
    expect(page.body.page.has_more).toBe(true);
    const whole = await execution();
    expect(whole.inThread).toEqual(['getExecution']);
    expect(whole.body).toMatchObject({ spans: [{}], spans_truncated: true, span_count: 2 });
  });

  test('with an input of very many values is read in a thread, whatever asks for it', async () => {
    const { span, input, spans, execution } = await stored(1, { input: "concat('[', repeat('{},', 100000), '{}]')" });
    const reads = [await span(), await input(), await spans(), await execution()];
    expect(reads.map(({ inThread }) => inThread)).toEqual([
      ['getSpan'],
      ['getSpanPart'],
      ['listSpans'],
      ['getExecution'],
    ]);
    const [whole, part, page, trace] = reads.map(({ body }) => body);
    expect(part.total_chars).toBe(300_004);
    expect([whole, page.data[0], trace.spans[0]].map((each) => each.input.length)).toEqual([100_001, 100_001, 100_001]);
  });

  test('with a name of a million characters is read without one, and a page has as many as it holds', async () => {
    const { span, logs, spans, execution } = await stored(128, { span_name: "repeat('n', 1000000)" });
    const reads = [await span(), await logs(), await spans(), await execution()];
    expect(reads.flatMap(({ inThread }) => inThread)).toEqual([]);
    expect(reads.map(({ body }) => (body.data ?? body.spans)?.length)).toEqual([undefined, undefined, 8, 8]);
  });
});

test('what a thread reads ends in ClickHouse when its client has left', async () => {
  const asked: URLSearchParams[] = [];
  const server = createServer((req, res) => {
    asked.push(new URL(req.url ?? '', 'http://x').searchParams);
    res.writeHead(500).end('Code: 160. DB::Exception: too slow (TOO_SLOW)');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const own = traceThreads(`http://127.0.0.1:${port}`);
  const input = { projectId: it.project.id, traceId: newTraceId(), format: 'flat' } as const;
  const reader = { workspaceId: 'wsp_reader', signal: new AbortController().signal };
  await expect(own.run('getHierarchy', input, reader)).rejects.toThrow();
  await own.close();
  server.close();
  const settings = asked.map((each) => [
    each.get('readonly'),
    each.get('cancel_http_readonly_queries_on_client_close'),
  ]);
  expect(new Set(settings.map(String))).toEqual(new Set(['2,1']));
});

function textsOf(columns: readonly string[], sql: string): Record<string, string> {
  return Object.fromEntries(columns.map((column) => [column, sql]));
}

/** SQL for a scope of that name, which is also a resource with that host. */
function hostSql(text: string): string {
  return `concat('{"name":"', ${text}, '","attributes":[{"key":"host.name","value":{"stringValue":"', ${text}, '"}}]}')`;
}

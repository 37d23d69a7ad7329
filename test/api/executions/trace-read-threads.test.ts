import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ReadLanes } from '../../../src/domains/executions/read-lanes.ts';
import { readTrace } from '../../../src/domains/executions/read-trace.ts';
import type { TraceReadInput, TraceReadName } from '../../../src/domains/executions/trace-reads.ts';
import { TraceThreads } from '../../../src/domains/executions/trace-threads.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions } from '../../support/executions.ts';
import { newTraceId } from '../../support/spans.ts';
import { storeSpans } from '../../support/stored-spans.ts';

const cursorSecret = 'of no cursor here';
/** The traces of these tests name no prompts. */
const knownPrompts = { find: async () => new Map() };

let api: TestApi;
let project: ProjectOfTest;
let store: ReturnType<typeof connectExecutions>;
let threads: TraceThreads;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  store = connectExecutions(api);
  threads = new TraceThreads({ clickhouseUrl: api.config.clickhouseUrl, cursorSecret, knownPrompts });
});
afterAll(async () => {
  await threads.close();
  await store.close();
  await api.close();
});

/** Reads as the API does. `inThread` are the reads that needed a thread. */
async function read<Name extends TraceReadName>(name: Name, input: TraceReadInput<Name>) {
  const inThread: string[] = [];
  const run: TraceThreads['run'] = (...given) => {
    inThread.push(given[0]);
    return threads.run(...given);
  };
  const counted: TraceThreads = Object.assign(Object.create(threads), { run });
  const deps = { clickhouse: store.clickhouse, knownPrompts, cursorSecret, lanes: new ReadLanes(), threads: counted };
  const reader = { workspaceId: 'wsp_reader', signal: new AbortController().signal };
  const { content } = await readTrace(deps, name, input, reader);
  return { inThread, body: JSON.parse(Buffer.from(content).toString()) };
}

const filter = { kinds: undefined, durationNanoMin: 0n, errorsOnly: false, limit: 20_000 };

async function stored(count: number, columns: Readonly<Record<string, string>>) {
  const traceId = newTraceId();
  await storeSpans(store.clickhouse, project, { traceId, count, columns });
  const trace = { projectId: project.id, traceId };
  return {
    timeline: () => read('getTimeline', { ...trace, skew: true, filter }),
    hierarchy: () => read('getHierarchy', { ...trace, format: 'flat' }),
  };
}

/** SQL for the events of a span. JSON writes U+0001 with six characters. */
const eventsSql = (count: number, name: string) =>
  `concat('[', arrayStringConcat(arrayMap(i -> '{"name":"${name}","timeUnixNano":"5"}', range(${count})), ','), ']')`;
const control = '\\\\u0001';

describe('a tree or a timeline', () => {
  test.each<[string, number, Readonly<Record<string, string>>]>([
    ['names of events of control characters', 200, { events: eventsSql(64, control.repeat(200)) }],
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
    expect(body).toMatchObject({ truncated: true, span_count: expect.any(Number) });
    expect(body.span_count).toBeGreaterThan(11_000);
    expect(body.span_count).toBeLessThan(12_001);
    expect((await hierarchy()).body).toMatchObject({ truncated: true, span_count: body.span_count });
  });
});

function textsOf(columns: readonly string[], sql: string): Record<string, string> {
  return Object.fromEntries(columns.map((column) => [column, sql]));
}

/** SQL for a scope of that name, which is also a resource with that host. */
function hostSql(text: string): string {
  return `concat('{"name":"', ${text}, '","attributes":[{"key":"host.name","value":{"stringValue":"', ${text}, '"}}]}')`;
}

import { expect, test } from 'vitest';
import type { TraceReadInput, TraceReadName } from '../../../src/domains/executions/trace-reads.ts';
import type { LightSpan } from '../../../src/domains/spans/light-span.ts';
import { findLightSpans } from '../../../src/domains/spans/light-span-queries.ts';
import { partNames } from '../../../src/domains/spans/span-detail.ts';
import { findWholeTrace } from '../../../src/domains/spans/whole-span-queries.ts';
import type { ClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { newTraceId } from '../../support/spans.ts';
import { storeSpans } from '../../support/stored-spans.ts';
import { readAsApi, readDeps, useTraceReads } from '../../support/trace-reads.ts';

const it = useTraceReads();

/** A client that counts its queries, and how often one begins while no other is under way. */
function counting(clickhouse: ClickHouse) {
  const counts = { queries: 0, turns: 0 };
  let underWay = 0;
  const exec = async (params: Parameters<ClickHouse['exec']>[0]) => {
    counts.queries++;
    if (underWay++ === 0) counts.turns++;
    try {
      return await clickhouse.exec(params);
    } finally {
      underWay--;
    }
  };
  return { client: Object.assign(Object.create(clickhouse) as ClickHouse, { exec }) as ClickHouse, counts };
}

async function read<Name extends TraceReadName>(name: Name, input: TraceReadInput<Name>) {
  const { client, counts } = counting(it.store.clickhouse);
  const body: Record<string, unknown> = await readAsApi(
    readDeps({ clickhouse: client, threads: it.threads }),
    name,
    input,
  );
  return { counts, body };
}

const everything = { include: new Set(partNames), withSpans: true, feedback: { items: [], score: null } };
const filter = { kinds: undefined, durationNanoMin: 0n, errorsOnly: false, limit: 20_000 };

test('an execution of ordinary size is read by one query', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 12 });
  const { counts, body } = await read('getExecution', { ...trace, ...everything });
  expect(body).toMatchObject({ span_count: 12, spans_truncated: false });
  expect(body.spans).toHaveLength(12);
  expect(counts).toEqual({ queries: 1, turns: 1 });
});

test('an execution whose JSON is many times its bytes is read part by part', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  const columns = { input: 'arrayStringConcat(arrayMap(i -> repeat(char(1), 900000), range(2)))' };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 1, columns });
  const { counts, body } = await read('getExecution', { ...trace, ...everything });
  expect(counts.queries).toBeGreaterThan(1);
  expect(body).toMatchObject({ spans: [{ large_parts: [{ part: 'input', chars: 10_800_002 }] }] });
});

test('the spans of an execution read whole are, for its summary, those that a batch of executions reads', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  for (const name of ['first', 'again']) {
    const columns = {
      name: `'${name}'`,
      kind: "if(number % 2 = 0, 'llm', 'tool')",
      has_usage: 'number % 3 = 0',
      input_tokens: 'number',
      cost_source: "if(number % 2 = 0, 'computed', 'none')",
      cost_nano_usd: 'number * 7',
      response_id: "concat('res_', toString(number))",
      prompt_source: "if(number % 5 = 0, 'attributes', '')",
      prompt_name: "'greeting'",
      input_preview: "concat('in ', toString(number))",
      output_preview: "concat('out ', toString(number))",
      tags: "['a', 'b']",
    };
    await storeSpans(it.store.clickhouse, it.project, {
      traceId: trace.traceId,
      count: name === 'first' ? 12 : 4,
      columns,
    });
  }
  const whole = await findWholeTrace(it.store.clickhouse, trace, { include: new Set(partNames), bytesMax: 4_000_000 });
  const lights = await findLightSpans(it.store.clickhouse, trace.projectId, [trace.traceId]);
  const byId = (spans: readonly LightSpan[]) => spans.toSorted((a, b) => a.spanId.localeCompare(b.spanId));
  expect(lights).toHaveLength(12);
  expect(lights.filter(({ sentOnce }) => sentOnce)).toHaveLength(8);
  expect(byId(whole?.lights ?? [])).toMatchObject(byId(lights));
});

test('a tree and a timeline of ordinary size are read by one query where the origins of spans are known', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 12 });
  await read('getHierarchy', { ...trace, format: 'flat' });
  const hierarchy = await read('getHierarchy', { ...trace, format: 'flat' });
  const timeline = await read('getTimeline', { ...trace, skew: true, filter });
  expect(hierarchy.body).toMatchObject({ span_count: 12, truncated: false });
  expect(hierarchy.counts).toEqual({ queries: 1, turns: 1 });
  expect(timeline.counts).toEqual({ queries: 1, turns: 1 });
});

test.each([
  { spans: 250, rows: '1,000' },
  { spans: 255, rows: '1,020' },
])('of $rows rows of $spans spans, each read answers every span as received last', async ({ spans }) => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  // The first one is stored last, so that no order of storage is taken for that of receipt.
  for (const [name, agoS] of Object.entries({ second: 3, third: 2, last: 1, first: 4 })) {
    const columns = { name: `'${name}'`, received_at: `now64(3) - toIntervalSecond(${agoS})` };
    await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: spans, columns });
  }
  const namesOf = (answered: unknown) => new Set((answered as { name: string }[]).map(({ name }) => name));
  const detail = await read('getExecution', { ...trace, ...everything });
  const hierarchy = await read('getHierarchy', { ...trace, format: 'flat' });
  const list = await read('listSpans', { ...trace, limit: spans, include: everything.include });
  expect(detail.body).toMatchObject({ span_count: spans, spans_truncated: false });
  expect(hierarchy.body).toMatchObject({ span_count: spans, truncated: false });
  for (const answered of [detail.body.spans, hierarchy.body.nodes, list.body.data]) {
    expect(answered).toHaveLength(spans);
    expect(namesOf(answered)).toEqual(new Set(['last']));
  }
});

test('an execution whose spans are more than are read at once answers them all, from where each is bounded', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 100, inputChars: 60_000 });
  const { body } = await read('getExecution', { ...trace, ...everything });
  expect(body).toMatchObject({ span_count: 100, spans_truncated: false });
  expect((body.spans as { input: string }[]).map(({ input }) => input.length)).toEqual(Array(100).fill(60_000));
});

test('an execution that was too large to be read here is read by a thread alone when it is read again', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 1_100 });
  const first = await read('getExecution', { ...trace, ...everything });
  const second = await read('getExecution', { ...trace, ...everything });
  expect([first.counts.queries, second.counts.queries]).toEqual([1, 0]);
  expect(second.body).toEqual(first.body);
  expect(second.body).toMatchObject({ span_count: 1_100 });
});

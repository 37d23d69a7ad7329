import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpanWire } from '../../../src/domains/executions/span.schema.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions } from '../../support/executions.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import { newTraceId } from '../../support/spans.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';

interface Slice {
  part: string;
  total_chars: number;
  offset: number;
  text: string;
  next_offset: number | null;
}

let api: TestApi;
let project: ProjectOfTest;
let store: ReturnType<typeof connectExecutions>;
const traceId = newTraceId();
const spanId = storedSpanId(0);

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  store = connectExecutions(api);
  const columns = {
    input: "concat('[\"', repeat('a🦜', 3000), '\"]')",
    output: "concat(repeat('z', 1000000), repeat('z', 1000000), repeat('z', 500000))",
    attributes_string:
      "mapFromArrays(arrayMap(i -> toString(i), range(30)), arrayMap(i -> repeat('y', 1000000), range(30)))",
    events: `'[{"timeUnixNano":"5","name":"it","attributes":[{"key":"k","value":{"intValue":"7"}}]}]'`,
  };
  await storeSpans(store.clickhouse, project, { traceId, count: 1, columns });
});
afterAll(async () => {
  await store.close();
  await api.close();
});

function getPart(part: string, query: Readonly<Record<string, string | number>> = {}, span = spanId) {
  const params = { project_id: project.id, trace_id: traceId, span_id: span, part };
  return api.call<Slice>('getSpanPart', { params, query, key: project.key });
}

/** The whole text of a part, slice by slice. */
async function readAll(part: string, limit: number): Promise<string> {
  let text = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const { status, body, text: answer } = await getPart(part, { offset, limit });
    expect(status, answer.slice(0, 500)).toBe(200);
    expect(body.offset).toBe(text.length);
    expect(body.text).not.toMatch(/\p{Surrogate}/u);
    expect(body.text.length).toBeLessThanOrEqual(Math.max(2, limit));
    text += body.text;
    offset = body.next_offset;
    if (offset === null) expect(body.total_chars).toBe(text.length);
  }
  return text;
}

describe('200', () => {
  test.each([1_000, 1_001, 777, 9_999])(
    'slices of %i characters are the JSON text together, no pair of surrogates apart',
    async (limit) => {
      expect(JSON.parse(await readAll('input', limit))).toEqual(['a🦜'.repeat(3_000)]);
    },
  );

  test('slices of one character come to an end', async () => {
    const start = await getPart('input', { offset: 3, limit: 1 });
    expect(start.body).toMatchObject({ offset: 3, text: '🦜', next_offset: 5 });
    expect((await getPart('input', { offset: 4, limit: 1 })).body).toMatchObject({ offset: 3, text: '🦜' });
  });

  test('an offset at or after the end has nothing more', async () => {
    const { body } = await getPart('input', { offset: 100_000_000 });
    expect(body).toMatchObject({ offset: body.total_chars, text: '', next_offset: null });
  });

  test('a part that is too long for its span is read whole', async () => {
    expect(JSON.parse(await readAll('output', 1_000_000))).toBe('z'.repeat(2_500_000));
    const params = { project_id: project.id, trace_id: traceId, span_id: spanId };
    const { body } = await api.call<SpanWire>('getSpan', { params, key: project.key });
    const output = body.large_parts.find(({ part }) => part === 'output');
    expect(output?.chars).toBe((await getPart('output', { limit: 1 })).body.total_chars);
  });

  test('a part of 30 MB is read without holding up the process', async () => {
    const loop = watchLoop();
    const { body } = await getPart('attributes', { offset: 29_000_000, limit: 1_000 });
    expect(loop.stop()).toBeLessThan(250);
    expect(body.total_chars).toBeGreaterThan(30_000_000);
    expect(body.text).toHaveLength(1_000);
  });

  test.each([
    ['events', [{ name: 'it', time_unix_nano: '5', attributes: { k: 7 } }]],
    ['resource', { attributes: {} }],
    ['links', []],
    ['scope', { name: 'test' }],
  ])('%s are answered as their span has them', async (part, expected) => {
    expect(JSON.parse(await readAll(part, 1_000))).toMatchObject(expected);
  });
});

describe('400', () => {
  test.each([{ offset: -1 }, { limit: 0 }, { limit: 1_000_001 }, { offset: '1e400' }])(
    '%j is refused',
    async (query) => {
      expectProblem(await getPart('input', query as Record<string, number>), 400, 'invalid_parameter');
    },
  );
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const params = { project_id: project.id, trace_id: traceId, span_id: spanId, part: 'input' };
    expectProblem(await api.call('getSpanPart', { params }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const params = { project_id: project.id, trace_id: traceId, span_id: spanId, part: 'input' };
    expectProblem(await api.call('getSpanPart', { params, key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('a span that does not exist is unknown', async () => {
    expectProblem(await getPart('input', {}, storedSpanId(9)), 404, 'span_not_found');
  });
});

describe('422', () => {
  test('a part that spans do not have is refused', async () => {
    expectProblem(await getPart('everything'), 422, 'invalid_path_parameter');
  });
});

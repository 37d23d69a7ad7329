import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpanWire } from '../../../src/domains/executions/span.schema.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions } from '../../support/executions.ts';
import { newTraceId } from '../../support/spans.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { getExecution } from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;
let store: ReturnType<typeof connectExecutions>;
const traceId = newTraceId();

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  store = connectExecutions(api);
  const columns = {
    input: 'concat(\'[{"role":"user","content":"\', repeat(\'ä\', 2000), \'"}]\')',
    output: "repeat('語', 1000)",
    attributes_string: "map('key', 'value')",
  };
  await storeSpans(store.clickhouse, project, { traceId, count: 2, columns });
});
afterAll(async () => {
  await store.close();
  await api.close();
});

function getSpan(spanId: string, query: Readonly<Record<string, string | number>> = {}, trace = traceId) {
  const params = { project_id: project.id, trace_id: trace, span_id: spanId };
  return api.call<SpanWire>('getSpan', { params, query, key: project.key });
}

describe('200', () => {
  test('a span is what its execution says of it', async () => {
    const { body } = await getSpan(storedSpanId(1).toUpperCase());
    const execution = await getExecution(api, project, traceId);
    expect(body).toEqual(execution.body.spans[1]);
    expect(body).toMatchObject({ name: 'work 1', attributes: { key: 'value' }, large_parts: [] });
  });

  test('parts whose JSON text is longer than `part_chars_max` are named instead, by that length exactly', async () => {
    const { body: whole } = await getSpan(storedSpanId(0));
    const chars = JSON.stringify(whole.input).length;
    const { body: within } = await getSpan(storedSpanId(0), { part_chars_max: chars });
    expect(within).toEqual(whole);
    const { body: cut } = await getSpan(storedSpanId(0), { part_chars_max: chars - 1 });
    expect(cut).not.toHaveProperty('input');
    expect(cut.output).toBe(whole.output);
    expect(cut.large_parts).toEqual([{ part: 'input', chars, preview: JSON.stringify(whole.input).slice(0, 200) }]);
  });

  test('a part whose text is short though it takes over a MiB to store is answered', async () => {
    const wide = newTraceId();
    await storeSpans(store.clickhouse, project, {
      traceId: wide,
      count: 1,
      columns: { output: "repeat('語', 400000)" },
    });
    const { body } = await getSpan(storedSpanId(0), {}, wide);
    expect(body.output).toBe('語'.repeat(400_000));
    expect(body.large_parts).toEqual([]);
  });
});

describe('400', () => {
  test.each(['999', '1000001', 'many'])('`part_chars_max` of %s is refused', async (chars) => {
    expectProblem(await getSpan(storedSpanId(0), { part_chars_max: chars }), 400, 'invalid_parameter');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const params = { project_id: project.id, trace_id: traceId, span_id: storedSpanId(0) };
    expectProblem(await api.call('getSpan', { params }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const params = { project_id: project.id, trace_id: traceId, span_id: storedSpanId(0) };
    expectProblem(await api.call('getSpan', { params, key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test.each([storedSpanId(7), 'nonsense', `${storedSpanId(0)}00`])('the span id %s is unknown', async (spanId) => {
    expectProblem(await getSpan(spanId), 404, 'span_not_found');
  });

  test('the trace id nonsense is unknown', async () => {
    expectProblem(await getSpan(storedSpanId(0), {}, 'nonsense'), 404, 'execution_not_found');
  });

  test("another project's span is unknown", async () => {
    const other = newTraceId();
    await storeSpans(store.clickhouse, await newProject(api), { traceId: other, count: 1 });
    expectProblem(await getSpan(storedSpanId(0), {}, other), 404, 'span_not_found');
  });
});

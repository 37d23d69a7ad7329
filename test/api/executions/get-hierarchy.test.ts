import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { readCaptures, replay } from '../../support/captures.ts';
import { aModelCall, aSpan, newSpanId, newTraceId, nowNano } from '../../support/spans.ts';
import { fastestMs, getHierarchy, manySpans, sendSpans, untilStored } from '../../support/traces.ts';
import { ms } from '../../support/tree-spans.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

describe('200', () => {
  test('spans are nested below their parents, orphans below one node for each missing parent', async () => {
    const traceId = newTraceId();
    const [root, agent, missing] = [newSpanId(), newSpanId(), newSpanId()];
    const begin = nowNano(-200);
    const at = (startMs: number, endMs: number) => ({
      startUnixNano: begin + ms(startMs),
      endUnixNano: begin + ms(endMs),
    });
    await sendSpans(api, project.key, [
      aModelCall(10, 5, { traceId, parentSpanId: agent, ...at(20, 60), statusCode: 2 }),
      aModelCall(20, 5, {
        traceId,
        spanId: agent,
        parentSpanId: root,
        ...at(10, 90),
        attributes: { 'gen_ai.operation.name': 'invoke_agent' },
      }),
      aSpan({ traceId, spanId: root, name: 'root', ...at(0, 100) }),
      aSpan({ traceId, parentSpanId: missing, name: 'first', ...at(1, 2) }),
      aSpan({ traceId, parentSpanId: missing, name: 'second', ...at(2, 3) }),
    ]);
    await untilStored(api, project, traceId, 5);
    const { body } = await getHierarchy(api, project, traceId.toUpperCase());
    expect(body).toMatchObject({
      trace_id: traceId,
      project_id: project.id,
      format: 'nested',
      span_count: 5,
      complete: true,
      truncated: false,
      warnings: [],
      roots: [
        {
          span_id: root,
          parent_span_id: null,
          name: 'root',
          kind: 'other',
          otel_kind: 'internal',
          depth: 0,
          duration_ms: 100,
          self_ms: 20,
          usage: null,
          totals: {
            span_count: 3,
            error_count: 1,
            usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
            duration_ms: 100,
          },
          children: [
            {
              span_id: agent,
              kind: 'agent',
              depth: 1,
              self_ms: 40,
              usage: { input_tokens: 20 },
              children: [{ kind: 'llm', model: 'gpt-4o', status: 'error', depth: 2, self_ms: 40, children: [] }],
            },
          ],
        },
        {
          span_id: missing,
          synthetic: true,
          totals: { span_count: 2, duration_ms: 2 },
          children: [
            { name: 'first', orphan: true, parent_span_id: missing },
            { name: 'second', orphan: true },
          ],
        },
      ],
    });
  });

  test('orphans are adopted when their parent arrives', async () => {
    const traceId = newTraceId();
    const root = newSpanId();
    await sendSpans(api, project.key, [aSpan({ traceId, name: 'child', parentSpanId: root })]);
    await untilStored(api, project, traceId);
    const before = (await getHierarchy(api, project, traceId)).body;
    expect([before.complete, before.roots?.[0]?.synthetic]).toEqual([false, true]);
    await sendSpans(api, project.key, [aSpan({ traceId, spanId: root, name: 'root' })]);
    await untilStored(api, project, traceId, 2);
    const { body } = await getHierarchy(api, project, traceId);
    expect(body).toMatchObject({
      complete: true,
      roots: [{ name: 'root', synthetic: false, children: [{ orphan: false }] }],
    });
  });

  test('in flat form nodes name their children', async () => {
    const traceId = newTraceId();
    const [root, child] = [newSpanId(), newSpanId()];
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: root }),
      aSpan({ traceId, spanId: child, parentSpanId: root }),
    ]);
    await untilStored(api, project, traceId, 2);
    const { body } = await getHierarchy(api, project, traceId, { format: 'flat' });
    expect(body).toMatchObject({
      format: 'flat',
      root_ids: [root],
      nodes: [
        { span_id: root, child_ids: [child], parent_index: null },
        { span_id: child, child_ids: [], parent_index: 0 },
      ],
    });
    expect(body).not.toHaveProperty('roots');
  });

  test('a cycle of parents and a span that is its own parent are cut with a warning', async () => {
    const traceId = newTraceId();
    const [first, second, self] = [newSpanId(), newSpanId(), newSpanId()];
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: second, parentSpanId: first, startUnixNano: nowNano(-50) }),
      aSpan({ traceId, spanId: first, parentSpanId: second, startUnixNano: nowNano(-90) }),
      aSpan({ traceId, spanId: self, parentSpanId: self, startUnixNano: nowNano(-10) }),
    ]);
    await untilStored(api, project, traceId, 3);
    const { body } = await getHierarchy(api, project, traceId);
    expect(body).toMatchObject({
      complete: false,
      warnings: [expect.stringMatching(new RegExp(`^parent_cycle: .*${first}, ${self}$`))],
      roots: [
        { span_id: first, children: [{ span_id: second, children: [] }] },
        { span_id: self, children: [] },
      ],
    });
  });

  test('spans that hosts with other clocks sent child before parent make one tree', async () => {
    const own = await newProject(api);
    for (const capture of readCaptures('otel-multiservice-skew')) await replay(api.url, own.key, capture);
    const traceId = '8777497ebc275dea57c4d4d9bd6546ad';
    await untilStored(api, own, traceId, 11);
    const { body } = await getHierarchy(api, own, traceId);
    expect(body.roots?.map(({ name, totals }) => [name, totals.span_count, totals.duration_ms])).toEqual([
      ['POST /ask', 11, 1_400],
    ]);
  });

  test.each([
    ['chain', 'flat'],
    ['fan', 'nested'],
  ] as const)(
    'a %s of 10,000 spans is answered %s within a second',
    async (form, format) => {
      const traceId = newTraceId();
      await sendSpans(api, project.key, manySpans(form, 10_000, traceId));
      await untilStored(api, project, traceId, 10_000);
      const [elapsedMs, { body }] = await fastestMs(1_000, () => getHierarchy(api, project, traceId));
      expect(body).toMatchObject({ format, span_count: 10_000, complete: true, truncated: false });
      const top = body.nodes?.[0] ?? body.roots?.[0];
      expect(top?.totals).toMatchObject({ span_count: 10_000, usage: { input_tokens: 30_000 } });
      expect(body.warnings).toEqual(
        form === 'fan' ? [] : [expect.stringMatching(/^nesting_too_deep: the tree has 10000 levels/)],
      );
      expect(elapsedMs).toBeLessThan(1_000);
    },
    60_000,
  );
});

describe('400', () => {
  test.each([
    [{ format: 'xml' }, 'invalid_parameter'],
    [{ formats: 'flat' }, 'unknown_parameter'],
  ])('the query %j is refused', async (query, code) => {
    expectProblem(await getHierarchy(api, project, newTraceId(), query), 400, code);
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('getHierarchy', { params }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('getHierarchy', { params, key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test.each([newTraceId(), 'nonsense'])('the trace id %s is unknown', async (traceId) => {
    expectProblem(await getHierarchy(api, project, traceId), 404, 'execution_not_found');
  });

  test("an execution of another project's is unknown, and so is another tenant's project", async () => {
    const other = await newProject(api);
    const traceId = newTraceId();
    await sendSpans(api, other.key, [aSpan({ traceId })]);
    await untilStored(api, other, traceId);
    expectProblem(await getHierarchy(api, project, traceId), 404, 'execution_not_found');
    for (const projectId of [other.id, newId('prj')]) {
      const params = { project_id: projectId, trace_id: traceId };
      expectProblem(await api.call('getHierarchy', { params, key: project.key }), 404, 'project_not_found');
    }
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { readCaptures, replay } from '../../support/captures.ts';
import { encodeTraces, type ResourceSpansInput, type SpanInput } from '../../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId, nowNano } from '../../support/spans.ts';
import {
  fastestMs,
  getHierarchy,
  getTimeline,
  manySpans,
  postTraces,
  sendSpans,
  untilStored,
} from '../../support/traces.ts';
import { ms } from '../../support/tree-spans.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const at = (startMs: number, endMs: number) => ({ startUnixNano: begin + ms(startMs), endUnixNano: begin + ms(endMs) });
const begin = nowNano(-1_000);

/** Spans of one service each; `host` is what the resource says of it. */
async function sendFromHosts(
  groups: readonly { host: NonNullable<ResourceSpansInput['resource']>['attributes']; spans: SpanInput[] }[],
) {
  const resourceSpans = groups.map(({ host, spans }) => ({
    ...(host && { resource: { attributes: host } }),
    scopeSpans: [{ spans }],
  }));
  const answer = await postTraces(api, project.key, Buffer.from(encodeTraces('protobuf', resourceSpans)));
  expect(answer.status).toBe(200);
}

describe('200', () => {
  test('services whose clocks differ are laid out on one clock, or as sent', async () => {
    const own = await newProject(api);
    for (const capture of readCaptures('otel-multiservice-skew')) await replay(api.url, own.key, capture);
    const traceId = '8777497ebc275dea57c4d4d9bd6546ad';
    await untilStored(api, own, traceId, 11);
    const { body } = await getTimeline(api, own, traceId);
    expect(body).toMatchObject({
      trace_id: traceId,
      project_id: own.id,
      duration_ms: 1_400,
      span_count: 11,
      returned: 11,
    });
    expect(body.critical_path.duration_ms).toBe(1_000);
    expect(body.clock_skew.by_host.map(({ host, skew_ms }) => [host, skew_ms])).toEqual([
      ['host-a', 0],
      ['host-b', -500],
      ['host-c', 2_000],
    ]);
    expect(body.spans.find(({ name }) => name === 'embeddings')).toMatchObject({
      start_ms: 625,
      scope: expect.any(String),
      service: 'retriever',
      kind: 'embedding',
      events: [{ name: 'cache.miss', offset_ms: 630 }],
    });
    const { body: sent } = await getTimeline(api, own, traceId, { skew: 'off' });
    expect([sent.duration_ms, sent.clock_skew.enabled, sent.clock_skew.adjusted_spans]).toEqual([2_780, false, 0]);
  });

  test.each([
    ['host.id', { 'host.id': 'one', 'host.name': 'same' }, { 'host.id': 'two', 'host.name': 'same' }, 'two'],
    ['the first host.ip', { 'host.ip': ['10.0.0.1', '10.0.0.9'] }, { 'host.ip': ['10.0.0.2', '10.0.0.9'] }, '10.0.0.2'],
    ['host.name', { 'host.name': 'one' }, { 'host.name': 'two' }, 'two'],
    ['service.instance.id', { 'service.instance.id': 'one' }, { 'service.instance.id': 'two' }, 'two'],
    [
      'the whole resource',
      { 'service.name': 'one' },
      { 'service.name': 'two' },
      expect.stringMatching(/^resource:[0-9a-f]{16}$/),
    ],
    ['host.id alone', { 'host.id': 'one', 'host.name': 'a' }, { 'host.id': 'one', 'host.name': 'b' }, undefined],
    ['nothing', {}, { 'service.name': 'two' }, undefined],
  ])('hosts are told apart by %s', async (_, callerHost, calleeHost, host) => {
    const traceId = newTraceId();
    const [caller, callee] = [newSpanId(), newSpanId()];
    await sendFromHosts([
      { host: callerHost, spans: [aSpan({ traceId, spanId: caller, kind: 3, ...at(0, 100) })] },
      { host: calleeHost, spans: [aSpan({ traceId, spanId: callee, parentSpanId: caller, kind: 2, ...at(500, 560) })] },
    ]);
    await untilStored(api, project, traceId, 2);
    const { body } = await getTimeline(api, project, traceId);
    expect(body.spans.map(({ skew_ms }) => skew_ms)).toEqual([0, host === undefined ? 0 : -480]);
    if (host !== undefined)
      expect(body.clock_skew.by_host).toContainEqual(expect.objectContaining({ host, skew_ms: -480 }));
  });

  test('a model call shows its model, usage, prompt and time to the first token', async () => {
    const traceId = newTraceId();
    const attributes = {
      'gen_ai.prompt.name': 'greet',
      'gen_ai.prompt.version': '3',
      'gen_ai.response.time_to_first_chunk': 0.025,
    };
    await sendSpans(api, project.key, [aModelCall(40, 2, { traceId, ...at(0, 100), attributes })]);
    await untilStored(api, project, traceId);
    const { body } = await getTimeline(api, project, traceId);
    expect(body.totals).toMatchObject({ usage: { input_tokens: 40, output_tokens: 2, total_tokens: 42 } });
    expect(body.spans).toMatchObject([
      {
        kind: 'llm',
        otel_kind: 'client',
        model: 'gpt-4o',
        usage: { input_tokens: 40, output_tokens: 2 },
        ttft_ms: 25,
        prompt_ref: { name: 'greet', version: 3 },
        is_root: true,
        on_critical_path: true,
        critical_ms: 100,
        left_pct: 0,
        width_pct: 100,
      },
    ]);
  });

  test('long names of a scope and of a host are shown up to 1,000 characters', async () => {
    const traceId = newTraceId();
    const resource = { attributes: { 'host.name': 'h'.repeat(5_000) } };
    const spans = [aSpan({ traceId }), aSpan({ traceId })];
    const scopeSpans = [{ scope: { name: 'é'.repeat(200_000) }, spans }];
    const body = Buffer.from(encodeTraces('protobuf', [{ resource, scopeSpans }]));
    expect((await postTraces(api, project.key, body)).status).toBe(200);
    await untilStored(api, project, traceId, 2);
    const { body: shown } = await getTimeline(api, project, traceId);
    expect(shown.spans.map(({ scope }) => scope)).toEqual(Array(2).fill('é'.repeat(1_000)));
    expect(shown.clock_skew.by_host.map(({ host }) => host)).toEqual(['h'.repeat(1_000)]);
  });

  test('filters choose the spans that are shown', async () => {
    const traceId = newTraceId();
    const [root, tool] = [newSpanId(), newSpanId()];
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: root, name: 'root', ...at(0, 100) }),
      aSpan({ traceId, spanId: tool, parentSpanId: root, name: 'step', ...at(10, 60) }),
      aModelCall(1, 1, { traceId, parentSpanId: tool, name: 'call', statusCode: 2, ...at(20, 30) }),
      aSpan({ traceId, parentSpanId: root, name: 'other', ...at(70, 75) }),
    ]);
    await untilStored(api, project, traceId, 4);
    const shown = async (query: Record<string, string | number>) => {
      const { body } = await getTimeline(api, project, traceId, query);
      expect([body.span_count, body.error_count, body.returned]).toEqual([4, 1, body.spans.length]);
      return [body.spans.map(({ name }) => name).join(' '), body.truncated];
    };
    expect(await shown({})).toEqual(['root step call other', false]);
    expect(await shown({ kinds: 'llm,tool' })).toEqual(['call', false]);
    expect(await shown({ min_duration_ms: 50 })).toEqual(['root step', false]);
    expect(await shown({ min_duration_ms: '0.000001' })).toEqual(await shown({ min_duration_ms: 1 }));
    expect(await shown({ errors_only: 'true' })).toEqual(['root step call', false]);
    expect(await shown({ limit: 2 })).toEqual(['root step', true]);
  });

  test('times of 0, at the end of 64 bits and in the wrong order are laid out all the same', async () => {
    const traceId = newTraceId();
    const last = 2n ** 64n - 1n;
    const root = newSpanId();
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: root, startUnixNano: 0n, endUnixNano: last }),
      aSpan({ traceId, parentSpanId: root, name: 'last', startUnixNano: last, endUnixNano: last }),
      aSpan({ traceId, parentSpanId: root, name: 'back', startUnixNano: 2_000_000n, endUnixNano: 1_000_000n }),
    ]);
    await untilStored(api, project, traceId, 3);
    const { body } = await getTimeline(api, project, traceId);
    expect(body).toMatchObject({ start_unix_nano: '0', start_time: '1970-01-01T00:00:00.000Z' });
    expect(body.spans.find(({ name }) => name === 'back')).toMatchObject({
      start_ms: 2,
      duration_ms: 0,
      warnings: ['end_before_start'],
    });
    expect(body.spans.find(({ name }) => name === 'last')).toMatchObject({
      raw_start_unix_nano: last.toString(),
      left_pct: 100,
      width_pct: 0,
    });
  });

  test.each(['chain', 'fan'] as const)(
    'a %s of 10,000 spans is answered within a second',
    async (form) => {
      const traceId = newTraceId();
      await sendSpans(api, project.key, manySpans(form, 10_000, traceId));
      await untilStored(api, project, traceId, 10_000);
      const [elapsedMs, { body }] = await fastestMs(1_000, () => getTimeline(api, project, traceId));
      expect(body).toMatchObject({ span_count: 10_000, returned: 10_000, complete: true, truncated: false });
      expect(body.lanes).toBe(10_000);
      expect(body.critical_path.duration_ms).toBe(body.root_duration_ms);
      expect(elapsedMs).toBeLessThan(1_000);
    },
    60_000,
  );
});

describe('200, of a trace larger than is read of one', () => {
  test('timeline and hierarchy show the earliest spans and say that there are more', async () => {
    const traceId = newTraceId();
    const spans = manySpans('fan', 20_001, traceId);
    for (let start = 0; start < spans.length; start += 7_000) {
      await sendSpans(api, project.key, spans.slice(start, start + 7_000));
    }
    const isTruncated = async () => {
      const { status, body } = await getTimeline(api, project, traceId, { limit: 1 });
      return status === 200 && body.truncated && body.span_count === 20_000 && body;
    };
    expect(await until('the timeline is truncated', 30_000, isTruncated)).toMatchObject({
      complete: true,
      returned: 1,
    });
    const { body } = await getHierarchy(api, project, traceId, { format: 'flat' });
    expect([body.truncated, body.span_count]).toEqual([true, 20_000]);
    expect(body.nodes?.some(({ span_id }) => span_id === spans.at(-1)?.spanId)).toBe(false);
  }, 60_000);
});

describe('400', () => {
  test.each([
    [{ skew: 'maybe' }, 'invalid_parameter'],
    [{ kinds: 'llm,nonsense' }, 'invalid_parameter'],
    [{ kinds: '' }, 'invalid_parameter'],
    [{ min_duration_ms: '-1' }, 'invalid_parameter'],
    [{ min_duration_ms: '1e3' }, 'invalid_parameter'],
    [{ errors_only: 'yes' }, 'invalid_parameter'],
    [{ limit: '0' }, 'invalid_parameter'],
    [{ limit: '20001' }, 'invalid_parameter'],
    [{ zoom: '2' }, 'unknown_parameter'],
  ])('the query %j is refused', async (query, code) => {
    expectProblem(await getTimeline(api, project, newTraceId(), query), 400, code);
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('getTimeline', { params }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('getTimeline', { params, key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test.each([newTraceId(), 'nonsense'])('the trace id %s is unknown', async (traceId) => {
    expectProblem(await getTimeline(api, project, traceId), 404, 'execution_not_found');
  });

  test("an execution of another project's is unknown", async () => {
    const other = await newProject(api);
    const traceId = newTraceId();
    await sendSpans(api, other.key, [aSpan({ traceId })]);
    await untilStored(api, other, traceId);
    expectProblem(await getTimeline(api, project, traceId), 404, 'execution_not_found');
  });
});

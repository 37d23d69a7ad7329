import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import type { AnyValue } from '../../../src/otlp/span.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { encodeTraces, type ResourceSpansInput } from '../../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId } from '../../support/spans.ts';
import {
  contentTypes,
  type Encoding,
  getExecution,
  getTimeline,
  postTraces,
  sendSpans,
  untilExecution,
  untilStored,
} from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

async function sendTraces(resourceSpans: readonly ResourceSpansInput[], encoding: Encoding = 'protobuf') {
  const body = Buffer.from(encodeTraces(encoding, resourceSpans));
  const answer = await postTraces(api, project.key, body, { 'Content-Type': contentTypes[encoding] });
  expect(answer.status).toBe(200);
}

async function onlySpan(traceId: string) {
  const { spans } = await untilStored(api, project, traceId);
  if (spans[0] === undefined) throw new Error('The execution has no span');
  return spans[0];
}

describe.concurrent('200', () => {
  test.each(['protobuf', 'json'] as const)('every attribute type of a span in %s is kept', async (encoding) => {
    const traceId = newTraceId();
    const attributes = new Map<string, AnyValue>(
      Object.entries({
        text: 'a\u0000b 🦜 \u{10FFFF} "quoted" \\ \n',
        empty: '',
        yes: true,
        no: false,
        int: -3n,
        int53: 9_007_199_254_740_991n,
        int64: 9_223_372_036_854_775_807n,
        int64min: -9_223_372_036_854_775_808n,
        double: 0.1,
        whole: 3,
        tiny: 5e-324,
        huge: 1.7976931348623157e308,
        nan: Number.NaN,
        plusInfinity: Number.POSITIVE_INFINITY,
        minusInfinity: Number.NEGATIVE_INFINITY,
        bytes: new Uint8Array([0, 255, 1]),
        nothing: null,
        list: ['a', 1n, 2.5, true, null, [], new Uint8Array([7])],
        'key with "quotes" and 🦜': 'x',
      }),
    );
    attributes.set('map', new Map(Object.entries({ deep: new Map([['er', [9_223_372_036_854_775_806n]]]) })));
    attributes.set('__proto__', 'kept');
    attributes.set('constructor', 7n);
    attributes.set('map2', new Map([['__proto__', 'kept too']]));
    await sendSpans(api, project.key, [aSpan({ traceId, attributes })], encoding);

    const span = await onlySpan(traceId);
    const own = new Map(Object.entries(span.attributes ?? {}));
    expect(own.get('__proto__')).toBe('kept');
    expect(JSON.stringify(own.get('map2'))).toBe('{"__proto__":"kept too"}');
    own.delete('map2');
    own.delete('__proto__');
    expect(Object.fromEntries(own)).toEqual({
      text: 'a\u0000b 🦜 \u{10FFFF} "quoted" \\ \n',
      empty: '',
      yes: true,
      no: false,
      int: -3,
      int53: 9_007_199_254_740_991,
      int64: '9223372036854775807',
      int64min: '-9223372036854775808',
      double: 0.1,
      whole: 3,
      tiny: 5e-324,
      huge: 1.7976931348623157e308,
      nan: 'NaN',
      plusInfinity: 'Infinity',
      minusInfinity: '-Infinity',
      bytes: 'AP8B',
      nothing: null,
      list: ['a', 1, 2.5, true, null, [], 'Bw=='],
      'key with "quotes" and 🦜': 'x',
      map: { deep: { er: ['9223372036854775806'] } },
      constructor: 7,
    });
    expect(span.attribute_types).toEqual({
      ...Object.fromEntries(['int', 'int53', 'int64', 'int64min', 'constructor'].map((key) => [key, 'int'])),
      ...Object.fromEntries(
        ['double', 'whole', 'tiny', 'huge', 'nan', 'plusInfinity', 'minusInfinity'].map((key) => [key, 'double']),
      ),
      bytes: 'bytes',
      nothing: 'empty',
      list: 'array',
      map: 'kvlist',
      map2: 'kvlist',
    });
  });

  test.each(['protobuf', 'json'] as const)('everything else of a span in %s is kept', async (encoding) => {
    const traceId = newTraceId();
    const [linkedTrace, linkedSpan] = [newTraceId(), newSpanId()];
    const span = aSpan({
      traceId,
      parentSpanId: newSpanId(),
      name: 'nom\u0000 🦜',
      kind: 4,
      startUnixNano: 1_795_218_500_123_456_789n,
      endUnixNano: 1_795_218_500_223_456_790n,
      traceState: 'vendor=1,other=2',
      flags: 0x301,
      statusCode: 2,
      statusMessage: 'it broke',
      droppedAttributesCount: 1,
      droppedEventsCount: 2,
      droppedLinksCount: 4_294_967_295,
      events: [
        {
          name: 'exception',
          timeUnixNano: 1_795_218_500_150_000_001n,
          attributes: { 'exception.type': 'E', 'exception.message': 'm', n: 1n },
          droppedAttributesCount: 5,
        },
        { name: 'second' },
      ],
      links: [
        {
          traceId: linkedTrace,
          spanId: linkedSpan,
          traceState: 'l=1',
          flags: 0x101,
          attributes: { why: 'because' },
          droppedAttributesCount: 6,
        },
      ],
    });
    const resource = { attributes: { 'service.name': 'shop', list: [1n] }, droppedAttributesCount: 7 };
    const scope = { name: 'tracer', version: '1.2', attributes: { a: true }, droppedAttributesCount: 8 };
    const urls = ['https://schemas.example/resource/1', 'https://schemas.example/scope/2'] as const;
    await sendTraces(
      [{ resource, schemaUrl: urls[0], scopeSpans: [{ scope, schemaUrl: urls[1], spans: [span] }] }],
      encoding,
    );

    expect(await onlySpan(traceId)).toMatchObject({
      span_id: span.spanId,
      parent_span_id: span.parentSpanId,
      name: 'nom\u0000 🦜',
      span_name: 'nom\u0000 🦜',
      otel_kind: 'producer',
      status: 'error',
      status_message: 'it broke',
      error: { type: 'E', message: 'it broke', stack: null },
      started_at: '2026-11-20T23:48:20.123Z',
      start_unix_nano: '1795218500123456789',
      end_unix_nano: '1795218500223456790',
      duration_ms: 100.000001,
      trace_state: 'vendor=1,other=2',
      flags: 0x301,
      dropped_attributes_count: 1,
      dropped_events_count: 2,
      dropped_links_count: 4_294_967_295,
      service: 'shop',
      events: [
        {
          name: 'exception',
          time: '2026-11-20T23:48:20.150Z',
          time_unix_nano: '1795218500150000001',
          attributes: { 'exception.type': 'E', 'exception.message': 'm', n: 1 },
          dropped_attributes_count: 5,
        },
        { name: 'second', time_unix_nano: '0', attributes: {} },
      ],
      links: [
        {
          trace_id: linkedTrace,
          span_id: linkedSpan,
          trace_state: 'l=1',
          flags: 0x101,
          attributes: { why: 'because' },
          dropped_attributes_count: 6,
        },
      ],
      resource: {
        attributes: { 'service.name': 'shop', list: [1] },
        dropped_attributes_count: 7,
        schema_url: urls[0],
      },
      scope: {
        name: 'tracer',
        version: '1.2',
        attributes: { a: true },
        dropped_attributes_count: 8,
        schema_url: urls[1],
      },
    });
  });

  test('what was judged of a span comes with it, whole, and of others there is nothing', async () => {
    const traceId = newTraceId();
    const result = { 'gen_ai.evaluation.name': 'Relevance', 'gen_ai.evaluation.score.value': 4.5 };
    const judged = aModelCall(1, 2, {
      traceId,
      attributes: {
        'trace.annotations.0.annotation.name': 'thumbs',
        'trace.annotations.0.annotation.label': 'down',
        'trace.annotations.0.annotation.annotator_kind': 'HUMAN',
      },
      events: [{ name: 'gen_ai.evaluation.result', attributes: result }],
    });
    await sendSpans(api, project.key, [judged, aSpan({ traceId, startUnixNano: 1n })]);
    const { spans } = await untilStored(api, project, traceId, 2);
    const absent = { label: null, explanation: null, annotator_kind: null, identifier: null, response_id: null };
    expect(spans.map(({ evaluations }) => evaluations)).toEqual([
      [],
      [
        { ...absent, name: 'Relevance', target: 'span', score: 4.5, metadata: null },
        {
          ...absent,
          name: 'thumbs',
          target: 'trace',
          score: null,
          label: 'down',
          annotator_kind: 'HUMAN',
          metadata: null,
        },
      ],
    ]);
  });

  test('a kind and a status code that no specification knows are kept and harmless', async () => {
    const traceId = newTraceId();
    await sendSpans(api, project.key, [aSpan({ traceId, kind: 77, statusCode: 9 })]);
    expect(await onlySpan(traceId)).toMatchObject({ otel_kind: '77', status: 'unset' });
  });

  test('a span without name, with zero times, or that ends before it begins is kept with a warning', async () => {
    const traceId = newTraceId();
    const [zero, started, backwards] = [newSpanId(), newSpanId(), newSpanId()];
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: zero, name: '', startUnixNano: 0n, endUnixNano: 0n }),
      aSpan({ traceId, spanId: started, parentSpanId: zero, startUnixNano: 0n }),
      aSpan({
        traceId,
        spanId: backwards,
        parentSpanId: zero,
        startUnixNano: 2_000_000_000n,
        endUnixNano: 1_000_000_000n,
      }),
    ]);
    const { spans, started_at, duration_ms } = await untilStored(api, project, traceId, 3);
    expect({ started_at, duration_ms }).toEqual({ started_at: '1970-01-01T00:00:00.000Z', duration_ms: 2_000 });
    expect(spans.map(({ span_id, duration_ms, warnings }) => ({ span_id, duration_ms, warnings }))).toEqual([
      ...[zero, started].toSorted().map((span_id) => ({ span_id, duration_ms: 0, warnings: ['zero_start_time'] })),
      { span_id: backwards, duration_ms: 0, warnings: ['end_before_start'] },
    ]);
    const timeline = await getTimeline(api, project, traceId);
    expect(timeline.body).toMatchObject({ duration_ms: 2_000, root_duration_ms: 0 });
  });

  test('a span at the end of 64-bit time is readable', async () => {
    const traceId = newTraceId();
    const last = 2n ** 64n - 1n;
    await sendSpans(api, project.key, [aSpan({ traceId, startUnixNano: last, endUnixNano: last })]);
    expect(await onlySpan(traceId)).toMatchObject({ start_unix_nano: last.toString(), duration_ms: 0 });
  });

  test('spans come in order of start and the ids are taken in any case', async () => {
    const traceId = newTraceId();
    const spans = [3n, 1n, 2n].map((second) =>
      aSpan({ traceId, name: `s${second}`, startUnixNano: second * 10n ** 9n }),
    );
    await sendSpans(api, project.key, spans);
    await untilStored(api, project, traceId, 3);
    const { body } = await getExecution(api, project, traceId.toUpperCase());
    expect([body.trace_id, ...body.spans.map(({ name }) => name)]).toEqual([traceId, 's1', 's2', 's3']);
  });

  test('`include` leaves out the parts that it does not name', async () => {
    const traceId = newTraceId();
    await sendSpans(api, project.key, [aModelCall(1, 2, { traceId, events: [{ name: 'e' }] })]);
    await untilStored(api, project, traceId);
    const parts = ['input', 'output', 'attributes', 'events', 'links', 'resource', 'scope'];
    const present = async (query: Record<string, string>) => {
      const { body } = await getExecution(api, project, traceId, query);
      return parts.filter((part) => Object.hasOwn(body.spans[0] ?? {}, part));
    };
    expect(await present({})).toEqual(parts);
    expect(await present({ include: 'events' })).toEqual(['events']);
    expect(await present({ include: 'attributes,scope' })).toEqual(['attributes', 'scope']);
    expect(await present({ include: 'input' })).toEqual(['input']);
    expect(await present({ include: 'output,input' })).toEqual(['input', 'output']);
  });

  test('a span whose parent has not come names it; it is complete once the root is there', async () => {
    const traceId = newTraceId();
    const [rootId, middleId] = [newSpanId(), newSpanId()];
    const send = (...spans: Parameters<typeof aSpan>) => sendSpans(api, project.key, [aSpan({ traceId, ...spans[0] })]);
    await send({ name: 'leaf', parentSpanId: middleId });
    const orphan = await untilStored(api, project, traceId);
    expect([orphan.complete, orphan.missing_parents, orphan.name]).toEqual([false, [middleId], 'leaf']);
    await send({ name: 'middle', spanId: middleId, parentSpanId: rootId });
    const middle = await untilStored(api, project, traceId, 2);
    expect([middle.complete, middle.missing_parents, middle.name]).toEqual([false, [rootId], 'middle']);
    await send({ name: 'root', spanId: rootId });
    const whole = await untilStored(api, project, traceId, 3);
    expect([whole.complete, whole.missing_parents, whole.name]).toEqual([true, [], 'root']);
  });

  test('spans sent again as they were change nothing', async () => {
    const traceId = newTraceId();
    const spans = [aModelCall(10, 5, { traceId }), aModelCall(20, 7, { traceId })];
    await sendSpans(api, project.key, spans);
    const first = await untilStored(api, project, traceId, 2);
    const marker = newTraceId();
    await sendSpans(api, project.key, spans);
    // Another encoding is another body, so it passes the queue's memory of deliveries and reaches the store.
    await sendSpans(api, project.key, [...spans, aSpan({ traceId: marker })], 'json');
    await untilStored(api, project, marker);
    expect((await getExecution(api, project, traceId)).body).toEqual(first);
  });

  test('a span sent again with other contents is as it was received last', async () => {
    const traceId = newTraceId();
    const spanId = newSpanId();
    for (const tokens of [5, 900, 30]) {
      await sendSpans(api, project.key, [aModelCall(tokens, 1, { traceId, spanId, name: `sent ${tokens}` })]);
      const execution = await untilExecution(api, project, traceId, ({ usage }) => usage.input_tokens === tokens);
      expect([execution.span_count, execution.name]).toEqual([1, `sent ${tokens}`]);
    }
  });

  test('the same trace and span ids in two projects are two executions', async () => {
    const other = await newProject(api);
    const traceId = newTraceId();
    const spanId = newSpanId();
    await sendSpans(api, project.key, [aSpan({ traceId, spanId, name: 'mine' })]);
    await sendSpans(api, other.key, [aSpan({ traceId, spanId, name: 'theirs' })]);
    const [mine, theirs] = await Promise.all([untilStored(api, project, traceId), untilStored(api, other, traceId)]);
    expect([mine.name, mine.project_id, theirs.name, theirs.project_id]).toEqual([
      'mine',
      project.id,
      'theirs',
      other.id,
    ]);
  });

  test('several keys of one project add to one execution', async () => {
    const traceId = newTraceId();
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    await sendSpans(api, project.key, [aSpan({ traceId })]);
    await sendSpans(api, key, [aSpan({ traceId })]);
    await untilStored(api, project, traceId, 2);
  });
});

describe('400', () => {
  test.each([
    [{ include: 'everything' }, 'invalid_parameter'],
    [{ include: '' }, 'invalid_parameter'],
    [{ includes: 'events' }, 'unknown_parameter'],
  ])('the query %j is refused', async (query, code) => {
    expectProblem(await getExecution(api, project, newTraceId(), query), 400, code);
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('getExecution', { params }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const params = { project_id: project.id, trace_id: newTraceId() };
    expectProblem(await api.call('getExecution', { params, key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test.each([newTraceId(), 'nonsense', '0'.repeat(32), "' or 1=1 --"])('the trace id %s is unknown', async (id) => {
    expectProblem(await getExecution(api, project, id), 404, 'execution_not_found');
  });

  test("an execution of another project's, under one's own project, is unknown", async () => {
    const other = await newProject(api);
    const traceId = newTraceId();
    await sendSpans(api, other.key, [aSpan({ traceId })]);
    await untilStored(api, other, traceId);
    expectProblem(await getExecution(api, project, traceId), 404, 'execution_not_found');
  });

  test("another tenant's project is answered as one that does not exist, to the byte", async () => {
    const other = await newProject(api);
    const traceId = newTraceId();
    await sendSpans(api, other.key, [aSpan({ traceId })]);
    await untilStored(api, other, traceId);
    const [known, unknown] = await Promise.all(
      [other.id, newId('prj')].map(async (id) => {
        const params = { project_id: id, trace_id: traceId };
        const answer = await api.call('getExecution', { params, key: project.key });
        const { request_id, instance, ...rest } = expectProblem(answer, 404, 'project_not_found');
        return JSON.stringify(rest);
      }),
    );
    expect(known).toBe(unknown);
  });
});

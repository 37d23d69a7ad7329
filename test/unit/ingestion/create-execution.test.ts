import { describe, expect, test } from 'vitest';
import { executionBody } from '../../../src/domains/ingestion/create-execution/execution-body.ts';
import { executionLimits } from '../../../src/domains/ingestion/create-execution/limits.ts';
import { quote } from '../../../src/http/faults.ts';
import { preferredWaitS } from '../../../src/http/prefer.ts';
import { parseBody } from '../../../src/http/validate.ts';
import { AppError } from '../../../src/lib/errors.ts';
import { aTraceId, nowMs, travel } from '../../support/execution-body.ts';

const iso = (ms: number) => new Date(ms).toISOString();
const nano = (ms: number) => BigInt(ms) * 1_000_000n;
const hour = 3_600_000;

/** The faults of a body, `path code`. */
async function faultsOf(body: unknown): Promise<string[]> {
  try {
    await travel(body);
    return [];
  } catch (error) {
    if (error instanceof AppError) return (error.errors ?? []).map(({ path, code }) => `${path} ${code}`);
    throw error;
  }
}

describe('what is not given', async () => {
  test('is the name `execution`, status ok, kind other, and now', async () => {
    const [{ span, normalized }] = await travel({});
    expect([normalized.name, normalized.status, normalized.kind]).toEqual(['execution', 'ok', 'other']);
    expect([span.startUnixNano, span.endUnixNano]).toEqual([nano(nowMs), nano(nowMs)]);
    expect([normalized.usage, normalized.reportedCostNanoUsd, normalized.promptRef]).toEqual([null, null, null]);
  });

  test('may be null, as in an answer of ours', async () => {
    const fields = Object.keys(executionBody.shape).map((name) => [name, null]);
    const [sent, empty] = [await travel(Object.fromEntries(fields)), await travel({})];
    expect(sent).toEqual(empty);
  });

  test.each([
    [{ model: 'm' }, 'llm'],
    [{ model: 'm', spans: [{ name: 'search', kind: 'tool' }] }, 'llm'],
    [{ model: 'm', spans: [{ name: 'chat', kind: 'llm' }] }, 'chain'],
    [{ spans: [{ name: 'search', kind: 'tool' }] }, 'chain'],
    [{ model: 'm', kind: 'agent' }, 'agent'],
    [{ spans: [] }, 'other'],
  ])('of %j is the kind %s', async (body, kind) => {
    expect((await travel(body))[0].normalized.kind).toBe(kind);
  });

  test.each([
    [{ duration_ms: 1.5 }, [nano(nowMs) - 1_500_000n, nano(nowMs)]],
    [{ started_at: iso(nowMs - hour) }, [nano(nowMs - hour), nano(nowMs)]],
    [{ started_at: iso(nowMs + hour) }, [nano(nowMs + hour), nano(nowMs + hour)]],
    [{ ended_at: iso(nowMs - hour) }, [nano(nowMs - hour), nano(nowMs - hour)]],
    [{ started_at: iso(nowMs - hour), duration_ms: 7 }, [nano(nowMs - hour), nano(nowMs - hour + 7)]],
  ])('of the times %j is taken from now', async (times, expected) => {
    const [{ span }] = await travel(times);
    expect([span.startUnixNano, span.endUnixNano]).toEqual(expected);
  });

  test.each([
    [{}, [0, 1_000]],
    [{ duration_ms: 5 }, [0, 5]],
    [{ started_at: iso(nowMs + 10) }, [10, 1_000]],
    [{ started_at: iso(nowMs + 2_000) }, [2_000, 2_000]],
    [{ ended_at: iso(nowMs + 20) }, [0, 20]],
    [{ ended_at: iso(nowMs - 20) }, [-20, -20]],
  ])('of the times %j of a span is taken from the execution', async (times, expected) => {
    const body = { started_at: iso(nowMs), duration_ms: 1_000, spans: [{ name: 's', kind: 'tool', ...times }] };
    const [, child] = await travel(body);
    expect([child?.span.startUnixNano, child?.span.endUnixNano]).toEqual(expected.map((ms) => nano(nowMs + ms)));
  });

  test('of span ids is the same for the same place in the same trace only', async () => {
    const body = (trace_id: string) => ({ trace_id, spans: ['a', 'b'].map((name) => ({ name, kind: 'other' })) });
    const ids = async (trace_id: string) => (await travel(body(trace_id))).map(({ span }) => span.spanId);
    const first = await ids(aTraceId);
    expect(await ids(aTraceId.toUpperCase())).toEqual(first);
    expect(new Set([...first, ...(await ids('1'.repeat(32)))]).size).toBe(6);
  });

  test('of an environment is that of the execution, of a user or session nothing', async () => {
    const spans = [
      { name: 'a', kind: 'other' },
      { name: 'b', kind: 'other', environment: 'staging' },
    ];
    const traveled = await travel({ environment: 'production', user_id: 'u', session_id: 's', spans });
    expect(traveled.map(({ normalized }) => normalized.environment)).toEqual(['production', 'production', 'staging']);
    expect(traveled.map(({ normalized }) => normalized.userId + normalized.sessionId)).toEqual(['us', '', '']);
  });
});

describe('content', async () => {
  const inputOf = async (body: object) => (await travel(body))[0].normalized.input;

  test('that is messages is stored as the messages of any client, with its raw form beside it', async () => {
    const input = [{ role: 'user', content: 'hi' }];
    const [{ span, normalized }] = await travel({ input, output: { role: 'assistant', content: 'ho' } });
    expect(JSON.parse(normalized.input)).toEqual([{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }]);
    expect(JSON.parse(normalized.output)).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: 'ho' }] }]);
    expect(span.attributes.get('gen_ai.input.messages')).toBe(JSON.stringify(input));
    expect([normalized.inputPreview, normalized.outputPreview]).toEqual(['hi', 'ho']);
  });

  test.each([
    [{ messages: [{ role: 'user', content: 'hi' }] }],
    [{ prompt: 'hi' }],
    [{}],
    [[]],
    [[{ role: 'user', content: 'hi' }, 'no message']],
    [[{ role: 'admin', name: 'Ada' }]],
  ])('of the structure %j stays as it is', async (input) => {
    expect(JSON.parse(await inputOf({ input }))).toEqual(input);
  });

  test('of a tool is data, even when it looks like messages', async () => {
    const input = [{ role: 'user', content: 'hi' }];
    expect(JSON.parse(await inputOf({ kind: 'tool', input }))).toEqual(input);
  });

  test.each([
    [42, '42'],
    [false, 'false'],
    [0, '0'],
  ])('%j is stored as text', async (input, text) => {
    expect(await inputOf({ input })).toBe(text);
  });

  test('of the largest size is stored whole, a byte more is refused', async () => {
    const input = 'ä'.repeat(executionLimits.contentBytesMax / 2);
    expect(await inputOf({ input })).toBe(input);
    expect(await faultsOf({ spans: [{ name: 's', kind: 'llm', output: `${input}x` }] })).toEqual([
      'spans[0].output invalid',
    ]);
  });
});

describe('the body', async () => {
  const span = { name: 's', kind: 'llm' };
  const { entriesMax, entryDepthMax, spansMax } = executionLimits;
  const many = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, index) => [`k${index}`, index]));
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
  const long = 'x'.repeat(257);
  const usage = (given: object) => ({ usage: { input_tokens: 10, output_tokens: 5, ...given } });

  test.each<[string, unknown, string]>([
    ['a trace id that is too short', { trace_id: 'abc' }, 'trace_id invalid_format'],
    ['a trace id of zeros', { trace_id: '0'.repeat(32) }, 'trace_id invalid_format'],
    ['a span id that is not hex', { spans: [{ ...span, span_id: 'g'.repeat(16) }] }, 'spans[0].span_id invalid_format'],
    ['a span without a name', { spans: [{ kind: 'llm' }] }, 'spans[0].name required'],
    ['a span without a kind', { spans: [{ name: 's' }] }, 'spans[0].kind invalid_value'],
    ['an unknown kind', { kind: 'LLM' }, 'kind invalid_value'],
    ['an unknown status', { status: 'failed' }, 'status invalid_value'],
    ['an empty name', { name: '' }, 'name too_small'],
    ['a name that is too long', { name: 'x'.repeat(1_025) }, 'name too_big'],
    ['a time without a zone', { started_at: '2026-11-20T10:00:00' }, 'started_at invalid_format'],
    ['a time before 1970', { started_at: '1969-12-31T23:59:59Z' }, 'started_at invalid'],
    ['a time after 2554', { ended_at: '2600-01-01T00:00:00Z' }, 'ended_at invalid'],
    ['an end before the start', { started_at: iso(nowMs), ended_at: iso(nowMs - 1) }, 'ended_at invalid'],
    ['an end and a duration', { ended_at: iso(nowMs), duration_ms: 1 }, 'duration_ms invalid'],
    ['a negative duration', { duration_ms: -1 }, 'duration_ms too_small'],
    ['more cache reads than input', usage({ cache_read_tokens: 11 }), 'usage.cache_read_tokens invalid'],
    ['cache reads without input', { usage: { cache_read_tokens: 1 } }, 'usage.cache_read_tokens invalid'],
    ['more cache writes than input', usage({ cache_write_tokens: 11 }), 'usage.cache_write_tokens invalid'],
    [
      'cache reads and writes that are more than input',
      usage({ cache_read_tokens: 6, cache_write_tokens: 6 }),
      'usage.input_tokens invalid',
    ],
    ['more reasoning than output', usage({ reasoning_tokens: 6 }), 'usage.reasoning_tokens invalid'],
    ['a total below its parts', usage({ total_tokens: 14 }), 'usage.total_tokens invalid'],
    [
      'a fault within a span',
      { spans: [span, { ...span, ...usage({ reasoning_tokens: 6 }) }] },
      'spans[1].usage.reasoning_tokens invalid',
    ],
    ['a negative count', usage({ output_tokens: -1 }), 'usage.output_tokens too_small'],
    ['a count of a half', usage({ output_tokens: 0.5 }), 'usage.output_tokens invalid_type'],
    ['a count beyond 2^31 - 1', { usage: { input_tokens: 2 ** 31 } }, 'usage.input_tokens too_big'],
    ['a negative cost', { cost: -0.1 }, 'cost too_small'],
    ['a cost that is no number', { cost: '1,5' }, 'cost invalid_format'],
    ['a cost beyond a million', { cost: '1000000.1' }, 'cost invalid'],
    ['an error that is ok', { status: 'ok', error: 'x' }, 'status invalid'],
    ['an error that is unset', { status: 'unset', error: { type: 'E' } }, 'status invalid'],
    ['an error that says nothing', { error: {} }, 'error invalid'],
    ['a version without a prompt', { prompt_version: 1 }, 'prompt_version invalid'],
    ['version 0', { prompt_id: 'p', prompt_version: 0 }, 'prompt_version too_small'],
    ['65 tags', { tags: Array.from({ length: 65 }, (_, index) => `t${index}`) }, 'tags too_big'],
    ['an empty tag', { tags: [' '] }, 'tags[0] too_small'],
    ['metadata that is a list', { metadata: [] }, 'metadata invalid'],
    ['too many keys', { metadata: many(entriesMax + 1) }, 'metadata too_big'],
    ['a key that is too long', { variables: { [long]: 1 } }, `variables[${quote(long)}] too_big`],
    ['a long key within a value', { metadata: { a: [1, { [long]: 1 }] } }, `metadata.a[1][${quote(long)}] too_big`],
    ['metadata that is too deep', { metadata: nested(entryDepthMax + 1) }, 'metadata too_big'],
    [
      'metadata that is too large',
      { metadata: { a: 'x'.repeat(executionLimits.metadataBytesMax) } },
      'metadata too_big',
    ],
    ['too many spans', { spans: Array.from({ length: spansMax }, () => span) }, 'spans too_big'],
    ['a field that does not exist', { spans: [{ ...span, nmae: 's' }] }, 'spans[0].nmae unknown_field'],
    ['a trace id within a span', { spans: [{ ...span, trace_id: aTraceId }] }, 'spans[0].trace_id unknown_field'],
  ])('with %s is refused by its path', async (_what, body, fault) => {
    expect(await faultsOf(body)).toEqual([fault]);
  });

  test('with the id of another span is refused, in any case and the root included', async () => {
    const id = 'abcdefabcdefabcd';
    const twice = [span, { ...span, span_id: id }, { ...span, span_id: id.toUpperCase() }];
    expect(await faultsOf({ spans: twice })).toEqual(['spans[2].span_id duplicate']);
    expect(await faultsOf({ span_id: id, spans: twice.slice(0, 2) })).toEqual(['spans[1].span_id duplicate']);
  });

  const lastIso = '2554-07-21T23:34:33.709551615Z';
  const year = 366 * 86_400_000;

  test.each<[string, unknown, string]>([
    ['the execution', { started_at: '2554-07-21T23:00:00Z', duration_ms: year }, 'duration_ms too_big'],
    ['one nanosecond', { started_at: lastIso, duration_ms: 1e-6 }, 'duration_ms too_big'],
    ['a span', { spans: [span, { ...span, started_at: lastIso, duration_ms: 1 }] }, 'spans[1].duration_ms too_big'],
    [
      'a span that begins with the execution',
      { started_at: lastIso, spans: [{ ...span, duration_ms: 0.5 }] },
      'spans[0].duration_ms too_big',
    ],
    [
      'the execution, whose end its spans take over',
      { started_at: lastIso, duration_ms: 1, spans: [span, span] },
      'duration_ms too_big',
    ],
  ])(
    'with a duration that leads beyond 64 bits of nanoseconds is refused by its path: %s',
    async (_what, body, fault) => {
      expect(await faultsOf(body)).toEqual([fault]);
    },
  );

  test('that ends with the last nanosecond of 64 bits is taken', async () => {
    const [root, child] = await travel({
      started_at: '2554-07-21T23:34:33.709Z',
      duration_ms: 0.551615,
      spans: [span],
    });
    expect([root.span.endUnixNano, child?.span.endUnixNano]).toEqual([2n ** 64n - 1n, 2n ** 64n - 1n]);
  });

  test('at its bounds is taken', async () => {
    expect(
      await faultsOf({ metadata: many(entriesMax), variables: nested(entryDepthMax), cost: '1000000.000000000' }),
    ).toEqual([]);
    expect(await faultsOf({ usage: { input_tokens: 5, cache_read_tokens: 3, cache_write_tokens: 2 } })).toEqual([]);
  });

  test('with more faults than anybody reads names fifty', async () => {
    expect((await faultsOf({ spans: Array.from({ length: 9_999 }, () => ({ a: 1, b: 2, c: 3 })) })).length).toBe(50);
  });

  test('with an unknown parent is taken: it may arrive later', async () => {
    const [, child] = await travel({ spans: [{ ...span, parent_span_id: 'FFFFFFFFFFFFFFFF' }] });
    expect(child?.span.parentSpanId).toBe('f'.repeat(16));
  });

  test('of 10,000 spans keeps every one', async () => {
    const spans = Array.from({ length: spansMax - 1 }, (_, index) => ({ name: `s${index}`, kind: 'tool' }));
    expect((await travel({ spans })).length).toBe(spansMax);
  });
});

describe('cost', async () => {
  test.each([
    ['0.000000001', 1n],
    ['999999.999999999', 999_999_999_999_999n],
    [0.1, 100_000_000n],
    [0, 0n],
    [1e-7, 100n],
  ])('%j is exact to the nano-dollar', async (cost, expected) => {
    expect((await travel({ cost }))[0].normalized.reportedCostNanoUsd).toBe(expected);
  });
});

describe('Prefer', async () => {
  test.each([
    ['wait=5', 5],
    ['respond-async, wait=5', 5],
    ['WAIT = "3"; x=1, wait=9', 3],
    ['wait=100', 10],
    ['wait=0', 0],
    ['wait', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['awaited=5', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j waits %s seconds', async (header, seconds) => {
    expect(preferredWaitS(header, 10)).toBe(seconds);
  });
});

test('a strict schema: the parsed body is what was sent', async () => {
  const body = { name: 'n', input: { a: [1] }, metadata: { b: null }, spans: [{ name: 's', kind: 'db' }] };
  expect(parseBody(executionBody, body)).toEqual(body);
});

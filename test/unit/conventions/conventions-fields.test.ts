import { describe, expect, test } from 'vitest';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { AnyValue, Span } from '../../../src/otlp/span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

function normalized(attributes: Record<string, AnyValue>, given: Partial<Span> = {}) {
  return normalizeSpan(buildSpan({ attributes: new Map(Object.entries(attributes)), ...given }));
}

const langfuseUsage = (details: Record<string, unknown>) =>
  normalized({ 'langfuse.observation.usage_details': JSON.stringify(details) });

describe('token usage', () => {
  test('nobody reports is null, and of zeros is zeros', () => {
    expect(normalized({ 'gen_ai.request.model': 'x' }).usage).toBeNull();
    expect(normalized({ 'gen_ai.usage.input_tokens': 0n }).usage).toMatchObject({ inputTokens: 0, totalTokens: 0 });
  });

  test.each([
    ['negative', -1n],
    ['not a number', Number.NaN],
    ['infinite', Number.POSITIVE_INFINITY],
    ['beyond 2^31 - 1', 2_147_483_648n],
    ['fractional', 1.5],
    ['a word', 'many'],
  ])('that is %s is dropped with a warning, the rest kept', (_what, bad) => {
    const span = normalized({ 'gen_ai.usage.input_tokens': bad, 'gen_ai.usage.output_tokens': 5n });
    expect(span.usage).toMatchObject({ inputTokens: 0, outputTokens: 5, totalTokens: 5 });
    expect(span.warnings).toEqual(['bad_token_count']);
    expect(normalized({ 'gen_ai.usage.input_tokens': bad }).usage).toBeNull();
  });

  test('as numeric text or double counts as a number', () => {
    const { usage } = normalized({ 'gen_ai.usage.input_tokens': '42', 'gen_ai.usage.output_tokens': 17 });
    expect(usage).toMatchObject({ inputTokens: 42, outputTokens: 17, totalTokens: 59 });
  });

  test('of Langfuse with exclusive parts is their sum', () => {
    const parts = { input: 34, input_cached_tokens: 8, output: 12, output_reasoning_tokens: 5, total: 59 };
    expect(langfuseUsage(parts).usage).toEqual({
      inputTokens: 42,
      outputTokens: 17,
      cacheReadTokens: 8,
      cacheWriteTokens: 0,
      reasoningTokens: 5,
      totalTokens: 59,
    });
  });

  test('of Langfuse with parts that exceed the total is inclusive already', () => {
    const parts = { input: 10, input_cached_tokens: 2, output: 5, total: 15 };
    expect(langfuseUsage(parts).usage).toMatchObject({
      inputTokens: 10,
      outputTokens: 5,
      cacheReadTokens: 2,
      totalTokens: 15,
    });
  });

  test('of Langfuse without a total sums, cache writes of every lifetime included', () => {
    const parts = { input: 10, input_cache_creation_5m: 3, input_cache_creation_1h: 4, output: 5 };
    expect(langfuseUsage(parts).usage).toMatchObject({ inputTokens: 17, cacheWriteTokens: 7, totalTokens: 22 });
  });

  test('in broken JSON falls back to the next source', () => {
    const { usage } = normalized({
      'langfuse.observation.usage_details': '{"input":',
      'gen_ai.usage.input_tokens': 3n,
    });
    expect(usage).toMatchObject({ inputTokens: 3 });
  });
});

describe('a reported cost', () => {
  test('of 0 is 0 and not absent', () => {
    expect(normalized({ 'gen_ai.usage.cost': 0 }).reportedCostNanoUsd).toBe(0n);
    expect(normalized({}).reportedCostNanoUsd).toBeNull();
  });

  test('with float noise is rounded to whole nano-USD', () =>
    expect(normalized({ 'llm.cost.total': 0.000010199999999999999 }).reportedCostNanoUsd).toBe(10_200n));

  test.each([-1, Number.NaN, 1e300, 'free', '0x10', ' 0b11', '0o17'])('of %s is dropped with a warning', (bad) => {
    const span = normalized({ 'gen_ai.usage.cost': bad });
    expect([span.reportedCostNanoUsd, span.warnings]).toEqual([null, ['bad_cost']]);
  });
});

describe('a prompt reference', () => {
  test('by our own id comes before a name and takes the version beside either', () => {
    const ref = normalized({
      'langfuse.observation.prompt.name': 'other',
      'gen_ai.prompt.name': 'greet',
      'gen_ai.prompt.version': '3',
      'promptlane.prompt.id': 'prm_1',
    }).promptRef;
    expect(ref).toEqual({ id: 'prm_1', name: 'greet', version: 3, rawVersion: '3', source: 'self' });
  });

  test.each([
    ['3', 3],
    ['v3', 3],
    [3n, 3],
    ['latest', 0],
    ['3.1', 0],
    ['-1', 0],
    ['9999999999', 0],
    ['', 0],
  ])('of version %s has number %i', (raw, version) => {
    const ref = normalized({ 'gen_ai.prompt.name': 'greet', 'gen_ai.prompt.version': raw }).promptRef;
    expect(ref).toMatchObject({ version, rawVersion: String(raw) });
  });

  test('by id of another vendor is not ours', () => {
    expect(normalized({ 'prompt.id': 'p', 'prompt.vendor': 'acme' }).promptRef).toBeNull();
    expect(normalized({ 'prompt.id': 'p' }).promptRef).toMatchObject({ id: 'p' });
    expect(normalized({ 'prompt.id': 'p', 'prompt.vendor': 'Promptlane' }).promptRef).toMatchObject({ id: 'p' });
  });

  test('by a template alone is left to be matched by the hash of its whole text', () => {
    // printf %s 'Hi {{x}}' | sha256sum
    const id = 'sha256:45c811767782f3887a2084d362f9e64e1b9b6dab2743bfcd381f595b419252dc';
    expect(normalized({ 'traceloop.prompt.template': 'Hi {{x}}', 'traceloop.prompt.version': 2n }).promptRef).toEqual({
      id,
      name: '',
      version: 2,
      rawVersion: '2',
      source: 'template_match',
    });
    const long = 'x'.repeat(5_000);
    const keys = [long, `${long}y`].map((text) => normalized({ 'llm.prompt_template.template': text }).promptRef?.id);
    expect(new Set(keys).size).toBe(2);
  });
});

describe('a status', () => {
  test('that is unset is an error when there is an exception or an error type', () => {
    const exception = buildEvent('exception', {
      'exception.type': 'TypeError',
      'exception.message': 'x',
      'exception.stacktrace': 'at y',
    });
    expect(normalized({}, { events: [exception] })).toMatchObject({
      status: 'error',
      errorType: 'TypeError',
      errorMessage: 'x',
      errorStack: 'at y',
    });
    expect(normalized({ 'error.type': '500' })).toMatchObject({ status: 'error', errorType: '500' });
    expect(normalized({ 'error.type': '' }).status).toBe('unset');
  });

  test('of Langfuse is an error at level ERROR only', () => {
    const at = (level: string) =>
      normalized({ 'langfuse.observation.level': level, 'langfuse.observation.status_message': 'm' });
    expect([at('ERROR').status, at('ERROR').errorMessage]).toEqual(['error', 'm']);
    expect([at('WARNING').status, at('WARNING').errorMessage]).toEqual(['unset', '']);
  });

  test('has the HTTP status code beside it', () =>
    expect(normalized({ 'http.response.status_code': 503n }, { statusCode: 2, statusMessage: 'away' })).toMatchObject({
      status: 'error',
      errorMessage: 'away',
      httpStatusCode: 503,
    }));
});

describe('a preview', () => {
  test('is the last thing the user said and what the assistant answered', () => {
    const said = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'reply' },
      { role: 'user', content: 'second\n\n  line' },
      { role: 'assistant', content: [{ type: 'text', text: 'more' }] },
    ];
    const span = normalized({
      'input.value': JSON.stringify({ messages: said }),
      'output.value': JSON.stringify(said),
    });
    expect([span.inputPreview, span.outputPreview]).toEqual(['second line', 'more']);
  });

  test.each([199, 200, 201])('is at most 200 units and never half a character, with an emoji at %i', (at) => {
    const { inputPreview } = normalized({ 'input.value': `${'x'.repeat(at - 1)}😀 and more` });
    expect(inputPreview.length).toBeLessThanOrEqual(200);
    expect(() => encodeURIComponent(inputPreview)).not.toThrow();
    expect(inputPreview.length).toBe(at === 200 ? 199 : 200);
  });
});

describe('text that is not messages', () => {
  test.each([
    '{"args":[],"kwargs":{"city":"Paris"}}',
    '{"role":"admin","name":"x"}',
    '[1,2,3]',
    '[{"role":"user","content":"x"},7]',
    '{"messages":"none"}',
    '{"prompt":"a cat","style":"oil"}',
    '{"parts":["wheel"],"car":1}',
    '{"broken":',
    'plain',
  ])('%s stays as it was', (text) => expect(normalized({ 'input.value': text }).input).toBe(text));

  test.each(['', '{}', '[]', '""', ' {} '])('%j is no input', (text) =>
    expect(normalized({ 'input.value': text }).input).toBe(''),
  );

  test('a tool is given stays as it was although it looks like a message', () => {
    const text = '{"role":"user","content":"x"}';
    expect(normalized({ 'openinference.span.kind': 'TOOL', 'input.value': text }).input).toBe(text);
  });
});

describe('text that a client sends as JSON whatever it is', () => {
  test.each([
    ['a text alone', { 'ai.value': '"hello"' }, 'hello'],
    ['a text that only looks quoted', { 'ai.value': '"hello' }, '"hello'],
    ['a list of texts', { 'ai.values': ['"hello"', '"you"', '7'] }, '["hello","you","7"]'],
    ['an object', { 'traceloop.entity.input': '{"args":["x"]}' }, '{"args":["x"]}'],
  ])('is read as %s', (_what, attributes, input) => {
    expect(normalized(attributes).input).toBe(input);
  });

  test('of a list of vectors becomes vectors', () => {
    expect(normalized({ 'ai.embeddings': ['[0.5,1]', '[2]'] }).output).toBe('[[0.5,1],[2]]');
  });

  test('of a tool result is the text without its quotes', () => {
    const call = { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.args': '{"city":"Paris"}' };
    expect(normalized({ ...call, 'ai.toolCall.result': '"mild"' })).toMatchObject({
      kind: 'tool',
      input: '{"city":"Paris"}',
      output: 'mild',
    });
  });
});

describe('a name', () => {
  const functionOfCall = { 'ai.telemetry.functionId': 'answer' };

  test('of an AI SDK tool call is the tool, not the function that called the model', () => {
    const call = { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.name': 'get_weather', ...functionOfCall };
    expect(normalized(call).name).toBe('get_weather');
    expect(normalized({ 'ai.operationId': 'ai.generateText', ...functionOfCall }).name).toBe('answer');
  });
});

describe('bounds', () => {
  const said = (count: number) => Array.from({ length: count }, (_, i) => ({ role: 'user', content: `m${i}` }));

  test('more than 1,000 messages stay raw text', () => {
    const raw = JSON.stringify(said(1001));
    expect(normalized({ 'gen_ai.input.messages': raw }).input).toBe(raw);
    expect(JSON.parse(normalized({ 'gen_ai.input.messages': JSON.stringify(said(1000)) }).input)).toHaveLength(1000);
  });

  test('JSON above 1 MiB is not parsed and kept as text', () => {
    const raw = JSON.stringify([{ role: 'user', content: 'x'.repeat(1_048_576) }]);
    const span = normalized({ 'gen_ai.input.messages': raw });
    expect(span.input).toBe(raw.slice(0, 1_048_576));
    expect(span.warnings).toEqual(['text_truncated']);
  });

  test('arguments nested deeper than 500 leave the text as it was, brackets in texts do not count', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const said = [{ role: 'user', parts: [{ type: 'text', content: `\\"${'['.repeat(5_000)}\\` }] }];
    expect(normalized({ 'gen_ai.input.messages': JSON.stringify(said) }).inputPreview).toMatch(/^\\"\[+$/);
    const raw = `[{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"f","arguments":${deep}}]}]`;
    expect(normalized({ 'gen_ai.output.messages': raw }).output).toBe(raw);
  });

  test('a numbered message beyond 1,000 is left out with a warning', () => {
    const span = normalized({
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'Hi',
      'gen_ai.prompt.99999.content': 'far',
    });
    expect(JSON.parse(span.input)).toHaveLength(1);
    expect(span.warnings).toEqual(['messages_truncated']);
  });

  test('a source whose reading throws is passed over with a warning and the rest kept', () => {
    const unreadable: AnyValue[] = [];
    unreadable.slice = () => {
      throw new Error('unreadable');
    };
    const span = normalized({
      'gen_ai.request.model': 'm',
      'tag.tags': unreadable,
      'logfire.tags': ['a'],
      'user.id': 'u',
    });
    expect(span.warnings).toEqual(['normalizer_error:tags']);
    expect([span.model, span.tags, span.userId]).toEqual(['m', ['a'], 'u']);
  });

  test('keys that are names of object members are data', () => {
    const span = normalized({
      'gen_ai.request.__proto__': 'x',
      'langfuse.observation.type': 'constructor',
      'gen_ai.operation.name': '__proto__',
      'gen_ai.system': 'toString',
    });
    expect([span.kind, span.provider, span.params]).toEqual(['other', 'tostring', '{"__proto__":"x"}']);
  });
});

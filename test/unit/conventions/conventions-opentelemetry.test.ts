import { describe, expect, test } from 'vitest';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { AnyValue, Span } from '../../../src/otlp/span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

/**
 * Event forms and deprecated names of OpenTelemetry's own GenAI conventions, and what they and
 * OpenInference say of evaluations.
 */
function normalized(attributes: Record<string, AnyValue>, given: Partial<Span> = {}) {
  return normalizeSpan(buildSpan({ attributes: new Map(Object.entries(attributes)), ...given }));
}

const message = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

// open-telemetry/semantic-conventions v1.27 to v1.41, docs/gen-ai; deprecations in model/gen-ai/deprecated.
describe('deprecated names of the conventions', () => {
  const old = normalized({
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'az.ai.openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.prompt_tokens': 42n,
    'gen_ai.usage.completion_tokens': 17n,
    'gen_ai.prompt': '[{"role":"user","content":"Hi"}]',
    'gen_ai.completion': '[{"role":"assistant","content":"Hello"}]',
    'gen_ai.openai.request.seed': 7n,
    'gen_ai.openai.request.response_format': 'json_object',
  });

  test('are read as the current ones', () => {
    expect([old.provider, old.usage]).toMatchObject(['azure.ai.openai', { inputTokens: 42, outputTokens: 17 }]);
    expect([JSON.parse(old.input), JSON.parse(old.output)]).toEqual([
      [message('user', 'Hi')],
      [message('assistant', 'Hello')],
    ]);
    expect(old.params).toBe('{"seed":7,"response_format":"json_object"}');
  });

  test('give way to the current ones beside them', () => {
    const span = normalized({
      'gen_ai.system': 'openai',
      'gen_ai.provider.name': 'azure.ai.openai',
      'gen_ai.usage.prompt_tokens': 1n,
      'gen_ai.usage.input_tokens': 42n,
      'gen_ai.usage.cache_creation.input_tokens': 1n,
      'gen_ai.usage.cache_write.input_tokens': 2n,
    });
    expect([span.provider, span.usage]).toMatchObject(['azure.ai.openai', { inputTokens: 42, cacheWriteTokens: 2 }]);
  });

  test.each([
    ['az.ai.inference', 'azure.ai.inference'],
    ['vertex_ai', 'gcp.vertex_ai'],
    ['gemini', 'gcp.gemini'],
    ['xai', 'x_ai'],
    ['OpenAI', 'openai'],
    ['acme-llm', 'acme-llm'],
  ])('of the provider %s become %s', (system, provider) =>
    expect(normalized({ 'gen_ai.system': system }).provider).toBe(provider),
  );
});

describe('every operation of the conventions', () => {
  test.each([
    ...['chat', 'text_completion', 'generate_content', 'fetch_response'].map((name) => [name, 'llm']),
    ['embeddings', 'embedding'],
    ['execute_tool', 'tool'],
    ['retrieval', 'retrieval'],
    ['search_memory', 'retrieval'],
    ['invoke_agent', 'agent'],
    ['create_agent', 'agent'],
    ['invoke_workflow', 'chain'],
    ['plan', 'chain'],
    ['create_memory', 'other'],
    ['update_memory', 'other'],
    ['upsert_memory', 'other'],
    ['delete_memory', 'other'],
    ['create_memory_store', 'other'],
    ['delete_memory_store', 'other'],
  ])('%s is of kind %s, whatever model it names', (operation, kind) =>
    expect(normalized({ 'gen_ai.operation.name': operation, 'gen_ai.request.model': 'm' }).kind).toBe(kind),
  );

  test('of a retrieval keeps what it asked for', () => {
    const span = normalized({
      'gen_ai.operation.name': 'retrieval',
      'gen_ai.retrieval.query.text': 'umbrella',
      'gen_ai.retrieval.documents': '[{"id":"d1","score":0.9}]',
      'gen_ai.retrieval.top_k': 5n,
    });
    expect([span.input, span.output, span.params]).toEqual(['umbrella', '[{"id":"d1","score":0.9}]', '{"top_k":5}']);
  });

  test('is a model call when only the parameters of OpenInference name the model', () =>
    expect(normalized({ 'llm.invocation_parameters': '{"model":"gpt-4o","n":1}' })).toMatchObject({
      ...{ kind: 'llm', model: 'gpt-4o', requestModel: 'gpt-4o' },
    }));
});

// docs/gen-ai/gen-ai-events.md of v1.36 (per message) and v1.41 (details); Azure's SDKs put the
// body into gen_ai.event.content.
describe('messages sent as span events', () => {
  const expectedIn = [message('system', 'Be brief.'), message('user', 'Hi')];

  test('one by one are in order, the choices apart', () => {
    const events = [
      buildEvent('gen_ai.system.message', { content: 'Be brief.', 'gen_ai.system': 'openai' }),
      buildEvent('gen_ai.user.message', { content: 'Hi' }),
      buildEvent('gen_ai.choice', {
        index: 0n,
        finish_reason: 'stop',
        message: '{"role":"assistant","content":"Hello"}',
      }),
      buildEvent('gen_ai.choice', { index: 1n, finish_reason: 'length', message: new Map([['content', 'Hey']]) }),
    ];
    const span = normalized({ 'gen_ai.operation.name': 'chat' }, { events });
    expect(JSON.parse(span.input)).toEqual(expectedIn);
    expect(JSON.parse(span.output)).toEqual([
      { ...message('assistant', 'Hello'), finish_reason: 'stop' },
      { ...message('assistant', 'Hey'), finish_reason: 'length' },
    ]);
  });

  test('in an attribute of the event are the same', () => {
    const event = (name: string, body: object) =>
      buildEvent(name, { 'gen_ai.system': 'az.ai.inference', 'gen_ai.event.content': JSON.stringify(body) });
    const span = normalized(
      {},
      {
        events: [
          event('gen_ai.system.message', { role: 'system', content: 'Be brief.' }),
          event('gen_ai.user.message', { role: 'user', content: 'Hi' }),
          event('gen_ai.choice', { finish_reason: 'stop', index: 0, message: { content: 'Hello' } }),
        ],
      },
    );
    expect(JSON.parse(span.input)).toEqual(expectedIn);
    expect(JSON.parse(span.output)).toEqual([{ ...message('assistant', 'Hello'), finish_reason: 'stop' }]);
  });

  test('as one event of details are the same, with the instructions first', () => {
    const events = [
      buildEvent('gen_ai.client.inference.operation.details', {
        'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
        'gen_ai.input.messages': JSON.stringify([message('user', 'Hi')]),
        'gen_ai.output.messages': JSON.stringify([message('assistant', 'Hello')]),
      }),
    ];
    const span = normalized({}, { events });
    expect([JSON.parse(span.input), JSON.parse(span.output)]).toEqual([expectedIn, [message('assistant', 'Hello')]]);
  });

  // Mirascope and earlier OpenLIT: add_event('gen_ai.content.prompt', {'gen_ai.prompt': …}).
  test('as content events are messages, or the text they are', () => {
    const events = [
      buildEvent('gen_ai.content.prompt', { 'gen_ai.prompt': '{"role":"user","content":"Hi"}' }),
      buildEvent('gen_ai.content.completion', { 'gen_ai.completion': 'Hello' }),
    ];
    const span = normalized({}, { events });
    expect([JSON.parse(span.input), span.output]).toEqual([[message('user', 'Hi')], 'Hello']);
  });
});

describe('a failed call', () => {
  // LiteLLM since 1.93 puts the log event gen_ai.client.operation.exception on the span.
  test.each(['exception', 'gen_ai.client.operation.exception'])('is an error by its event %s alone', (name) => {
    const failure = { 'exception.type': 'RateLimitError', 'exception.message': '429', 'exception.stacktrace': 'at x' };
    const span = normalized({ 'gen_ai.operation.name': 'chat' }, { events: [buildEvent(name, failure)] });
    expect(span).toMatchObject({
      status: 'error',
      errorType: 'RateLimitError',
      errorMessage: '429',
      errorStack: 'at x',
    });
  });
});

// open-telemetry/semantic-conventions-genai docs/gen-ai/gen-ai-events.md; Arize-ai/openinference
// spec/annotations.md @10e86fc.
describe('evaluations', () => {
  const evaluations = (attributes: Record<string, AnyValue>, given: Partial<Span> = {}): unknown => {
    const json = normalized(attributes, given).evaluations;
    return json === '' ? '' : JSON.parse(json);
  };
  const hallucination = (form: string, of = '') => ({
    [`${of}${form}s.0.${form}.name`]: 'hallucination',
    [`${of}${form}s.0.${form}.score`]: 1n,
    [`${of}${form}s.0.${form}.label`]: 'hallucinated',
    [`${of}${form}s.0.${form}.explanation`]: 'The claim is not supported by the retrieved documents.',
    [`${of}${form}s.0.${form}.annotator_kind`]: 'LLM',
    [`${of}${form}s.0.${form}.identifier`]: 'judge-v2',
    [`${of}${form}s.0.${form}.metadata`]: '{"rubric_version":"2"}',
  });
  const read = (target: string) => ({
    target,
    name: 'hallucination',
    score: 1,
    label: 'hallucinated',
    explanation: 'The claim is not supported by the retrieved documents.',
    annotator_kind: 'LLM',
    identifier: 'judge-v2',
    metadata: { rubric_version: '2' },
  });

  test.each([
    ['annotation', '', 'span'],
    ['evaluation', '', 'span'],
    ['annotation', 'trace.', 'trace'],
    ['evaluation', 'trace.', 'trace'],
    ['annotation', 'session.', 'session'],
    ['evaluation', 'session.', 'session'],
  ])('as an %s with the prefix "%s" are of the %s', (form, prefix, target) =>
    expect(evaluations(hallucination(form, prefix))).toEqual([read(target)]),
  );

  test('in both forms are one, in order of their numbers, beside those of events', () => {
    const attributes = {
      'annotations.10.annotation.name': 'last',
      'annotations.10.annotation.label': 'x',
      'annotations.2.annotation.name': 'second',
      'annotations.2.annotation.score': '0.5',
      ...hallucination('annotation'),
      ...hallucination('evaluation'),
      ...hallucination('evaluation', 'trace.'),
    };
    const events = [
      buildEvent('gen_ai.evaluation.result', {
        'gen_ai.evaluation.name': 'Relevance',
        'gen_ai.evaluation.score.value': 4.5,
        'gen_ai.evaluation.score.label': 'relevant',
        'gen_ai.evaluation.explanation': 'It answers.',
        'gen_ai.response.id': 'chatcmpl-1',
      }),
      buildEvent('gen_ai.evaluation.result', {
        'gen_ai.evaluation.name': 'Safe',
        'gen_ai.evaluation.score.label': 'pass',
      }),
    ];
    expect(evaluations(attributes, { events })).toEqual([
      {
        ...{ target: 'span', name: 'Relevance', score: 4.5, label: 'relevant' },
        ...{ explanation: 'It answers.', response_id: 'chatcmpl-1' },
      },
      { target: 'span', name: 'Safe', label: 'pass' },
      read('span'),
      { target: 'span', name: 'second', score: 0.5 },
      { target: 'span', name: 'last', label: 'x' },
      read('trace'),
    ]);
  });

  test('that judge nothing are none, and a score of 0 is a score', () => {
    expect(evaluations({})).toBe('');
    expect(evaluations({ 'annotations.0.annotation.name': 'quality' })).toBe('');
    expect(
      evaluations({ 'annotations.x.annotation.label': 'a', 'annotations.0.label': 'a', 'evaluations.0': 1n }),
    ).toBe('');
    expect(evaluations({ 'evaluations.0.evaluation.score': 0 })).toEqual([{ target: 'span', score: 0 }]);
  });

  test('with a score that is no number keep the rest, with a warning', () => {
    const span = normalized({ 'annotations.0.annotation.score': Number.NaN, 'annotations.0.annotation.label': 'bad' });
    expect([span.evaluations, span.warnings]).toEqual(['[{"target":"span","label":"bad"}]', ['bad_evaluation_score']]);
  });

  test('past 100 are left out with a warning', () => {
    const many = Array.from({ length: 101 }, (_, index) => [`annotations.${index}.annotation.score`, index]);
    const span = normalized(Object.fromEntries(many));
    expect(JSON.parse(span.evaluations)).toHaveLength(100);
    expect(span.warnings).toEqual(['evaluations_truncated']);
  });

  test('of a session do not make the session id', () =>
    expect(normalized({ 'session.id': 's', ...hallucination('annotation', 'session.') }).sessionId).toBe('s'));
});

describe('a reference to a prompt', () => {
  test('of Traceloop has the name of its version where it has no number', () =>
    expect(
      normalized({ 'traceloop.prompt.key': 'greet', 'traceloop.prompt.version_name': 'staging' }).promptRef,
    ).toMatchObject({ name: 'greet', version: 0, rawVersion: 'staging' }));
});

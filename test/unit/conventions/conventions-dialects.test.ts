import { describe, expect, test } from 'vitest';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { AnyValue, Span } from '../../../src/otlp/span.ts';
import { buildEvent, buildSpan, resourceWith, scopeOf } from '../../support/span-from-json.ts';

/** Dialects no capture speaks, from what their projects document. */
function normalized(attributes: Record<string, AnyValue>, given: Partial<Span> = {}) {
  return normalizeSpan(buildSpan({ attributes: new Map(Object.entries(attributes)), ...given }));
}

const asked = (content: string) => ({ role: 'user', parts: [{ type: 'text', content }] });
const answered = (content: string) => ({ role: 'assistant', parts: [{ type: 'text', content }] });

describe('an OpenLIT chat span', () => {
  const span = normalized({
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'OpenAI',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.model': 'gpt-4o-2024-08-06',
    'gen_ai.input.messages': 'hello world',
    'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"hi"}],"finish_reason":"stop"}]',
    'gen_ai.usage.input_tokens': 9n,
    'gen_ai.usage.output_tokens': 3n,
    'gen_ai.usage.cost': 0.00015,
    'gen_ai.server.time_to_first_token': 0.25,
    'tool.name': 'get_weather',
  });

  test('is an llm call although it names a tool', () => expect(span.kind).toBe('llm'));
  test('keeps a plain text input as it was', () =>
    expect([span.input, span.inputPreview]).toEqual(['hello world', 'hello world']));
  test('has its reported cost, latency and provider', () =>
    expect([span.reportedCostNanoUsd, span.ttftMs, span.provider]).toEqual([150_000n, 250, 'openai']));
});

describe('a LangSmith span', () => {
  const failed = {
    scope: scopeOf('langsmith'),
    statusCode: 1,
    events: [buildEvent('exception', { 'exception.message': 'no' })],
  };
  const prompt = {
    messages: [
      [{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'HumanMessage'], kwargs: { content: 'Hi' } }],
    ],
  };
  const completion = {
    generations: [[{ text: 'Hello', message: { id: ['x', 'AIMessage'], kwargs: { content: 'Hello' } } }]],
  };

  test('of a retriever is a retrieval although its operation says embeddings', () =>
    expect(normalized({ 'gen_ai.operation.name': 'embeddings', 'langsmith.span.kind': 'retriever' }).kind).toBe(
      'retrieval',
    ));

  test('that recorded an exception failed although it set OK before', () => {
    const { status, errorMessage } = normalized({ 'langsmith.span.kind': 'chain' }, failed);
    expect([status, errorMessage]).toEqual(['error', 'no']);
  });

  test('of another scope keeps its OK beside an exception it handled', () => {
    const { status, errorMessage } = normalized({}, { ...failed, scope: scopeOf('app') });
    expect([status, errorMessage]).toEqual(['ok', '']);
  });

  test('carries LangChain messages, tags, thread and token details', () => {
    const span = normalized({
      'langsmith.span.kind': 'llm',
      'gen_ai.system': 'langchain',
      'gen_ai.prompt': JSON.stringify(prompt),
      'gen_ai.completion': JSON.stringify(completion),
      'gen_ai.usage.input_tokens': 12n,
      'gen_ai.usage.output_tokens': 4n,
      'gen_ai.usage.input_token_details': '{"cache_read":5}',
      'gen_ai.usage.output_token_details': '{"reasoning":2}',
      'langsmith.span.tags': 'prod, beta',
      'langsmith.metadata.thread_id': 'thread-1',
      'langsmith.metadata.user_id': 'user-1',
    });
    expect(JSON.parse(span.input)).toEqual([asked('Hi')]);
    expect(JSON.parse(span.output)).toEqual([answered('Hello')]);
    expect(span.usage).toMatchObject({ inputTokens: 12, cacheReadTokens: 5, reasoningTokens: 2, totalTokens: 16 });
    expect([span.tags, span.sessionId, span.userId, span.provider]).toEqual([
      ['prod', 'beta'],
      'thread-1',
      'user-1',
      'langchain',
    ]);
  });
});

describe('an MLflow span', () => {
  const chat = {
    'mlflow.spanType': '"CHAT_MODEL"',
    'mlflow.llm.model': '"gpt-4o"',
    'mlflow.llm.provider': '"openai"',
    'mlflow.spanInputs': '{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}',
    'mlflow.spanOutputs': '{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}',
    'mlflow.llm.cost': '{"input_cost":0.1,"output_cost":0.2,"total_cost":0.3}',
    'mlflow.linkedPrompts': '[{"name":"greet","version":"2"},{"name":"other","version":"1"}]',
    'mlflow.trace.session': '"s-1"',
    'mlflow.traceTag.team': '"search"',
    'mlflow.traceTag.mlflow.traceName': '"t"',
  };
  const usage = { input_tokens: 10n, output_tokens: 5n, total_tokens: 15n, cache_read_input_tokens: 4n };

  test('whose attributes are JSON texts is read through the quotes', () => {
    const span = normalized(chat);
    expect([span.kind, span.model, span.provider, span.sessionId]).toEqual(['llm', 'gpt-4o', 'openai', 's-1']);
    expect(JSON.parse(span.input)).toEqual([asked('Hi')]);
    expect(JSON.parse(span.output)).toEqual([{ ...answered('Hello'), finish_reason: 'stop' }]);
    expect([span.reportedCostNanoUsd, span.tags]).toEqual([300_000_000n, ['team:search']]);
    expect(span.promptRef).toEqual({
      ...{ id: '', name: 'greet', version: 2, rawVersion: '2', source: 'self' },
      others: [{ id: '', name: 'other', version: 1, rawVersion: '1', source: 'self' }],
    });
  });

  test('that lists prompts without end names its first 32, without those that have no name', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => ({ name: index % 2 === 0 ? `p${index}` : 7 }));
    const { promptRef } = normalized({ 'mlflow.linkedPrompts': JSON.stringify(names) });
    expect([promptRef?.name, promptRef?.others?.map(({ name }) => name)]).toEqual([
      'p0',
      Array.from({ length: 15 }, (_, index) => `p${2 * index + 2}`),
    ]);
  });

  test('whose usage is a structure instead of text counts the same', () => {
    const asText = JSON.stringify({ input_tokens: 10, output_tokens: 5, total_tokens: 15, cache_read_input_tokens: 4 });
    const structured = normalized({ 'mlflow.chat.tokenUsage': new Map(Object.entries(usage)) }).usage;
    expect(structured).toMatchObject({ inputTokens: 10, outputTokens: 5, totalTokens: 15, cacheReadTokens: 4 });
    expect(normalized({ 'mlflow.chat.tokenUsage': asText }).usage).toEqual(structured);
  });
});

describe('a Pydantic AI span', () => {
  test('of a model call has its messages and the name Logfire shows', () => {
    const span = normalized({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mistralai',
      'logfire.msg': 'chat mistral-large',
      'logfire.tags': ['a', 'b'],
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
      'gen_ai.output.messages':
        '[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"add","arguments":{"a":1}}]}]',
      'gen_ai.usage.details.cache_read_tokens': 3n,
      'gen_ai.usage.input_tokens': 8n,
    });
    expect([span.name, span.provider, span.tags]).toEqual(['chat mistral-large', 'mistral_ai', ['a', 'b']]);
    expect([span.inputPreview, span.outputPreview]).toEqual(['Hi', 'add({"a":1})']);
    expect(span.usage).toMatchObject({ inputTokens: 8, cacheReadTokens: 3 });
  });

  test('of a tool has its arguments and response as they were', () => {
    const span = normalized({
      'gen_ai.tool.name': 'add',
      tool_arguments: '{"a":1}',
      tool_response: '3',
      'logfire.msg': 'running',
    });
    expect([span.kind, span.name, span.input, span.output]).toEqual(['tool', 'add', '{"a":1}', '3']);
  });

  test('of an agent run has all messages, in either of its formats, and the final result', () => {
    const events =
      '[{"event.name":"gen_ai.system.message","content":"Be brief."},{"event.name":"gen_ai.user.message","content":"Hi"}]';
    const span = normalized({
      agent_name: 'a',
      'agent.name': 'a',
      'pydantic_ai.all_messages': events,
      final_result: 'done',
    });
    expect(span.kind).toBe('agent');
    expect(JSON.parse(span.input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      asked('Hi'),
    ]);
    expect(span.output).toBe('done');
  });
});

describe('a Strands span', () => {
  const details = 'gen_ai.client.inference.operation.details';

  test('merges the operation details that are spread over several events', () => {
    const events = [
      buildEvent(details, { 'gen_ai.input.messages': JSON.stringify([asked('one')]) }),
      buildEvent(details, { 'gen_ai.input.messages': JSON.stringify([asked('two')]) }),
      buildEvent(details, {
        'gen_ai.output.messages': JSON.stringify([{ ...answered('three'), finish_reason: 'end_turn' }]),
      }),
    ];
    const span = normalized({ 'gen_ai.operation.name': 'chat' }, { events });
    expect(JSON.parse(span.input)).toEqual([asked('one'), asked('two')]);
    expect(JSON.parse(span.output)).toEqual([{ ...answered('three'), finish_reason: 'end_turn' }]);
  });

  test('of the older convention has Bedrock content blocks in message events', () => {
    const events = [
      buildEvent('gen_ai.user.message', { content: '[{"text":"Weather?"}]' }),
      buildEvent('gen_ai.assistant.message', {
        content: '[{"toolUse":{"toolUseId":"t1","name":"weather","input":{"city":"Paris"}}}]',
      }),
      buildEvent('gen_ai.tool.message', { content: '[{"toolResult":{"toolUseId":"t1","content":[{"text":"18C"}]}}]' }),
      buildEvent('gen_ai.choice', { finish_reason: 'end_turn', message: '[{"text":"It is 18C."}]' }),
    ];
    const span = normalized({ 'gen_ai.operation.name': 'chat', 'gen_ai.system': 'strands-agents' }, { events });
    expect(JSON.parse(span.input)).toEqual([
      asked('Weather?'),
      { role: 'assistant', parts: [{ type: 'tool_call', id: 't1', name: 'weather', arguments: { city: 'Paris' } }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 't1', response: [{ text: '18C' }] }] },
    ]);
    expect(JSON.parse(span.output)).toEqual([{ ...answered('It is 18C.'), finish_reason: 'end_turn' }]);
    expect([span.provider, span.outputPreview]).toEqual(['strands-agents', 'It is 18C.']);
  });

  test('of a tool has what its events say, and a cycle is a chain', () => {
    const events = [
      buildEvent('gen_ai.tool.message', { content: '{"city":"Paris"}' }),
      buildEvent('gen_ai.choice', { message: '"18C"' }),
    ];
    const tool = normalized({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'weather' }, { events });
    expect([tool.name, tool.input, tool.outputPreview]).toEqual(['weather', '{"city":"Paris"}', '18C']);
    expect(normalized({ 'event_loop.cycle_id': 'c-1' }).kind).toBe('chain');
  });
});

describe('a Google ADK span', () => {
  const request = {
    model: 'gemini-2.5-pro',
    config: { system_instruction: 'Be brief.' },
    contents: [
      { role: 'user', parts: [{ text: 'Weather?' }] },
      { role: 'model', parts: [{ function_call: { id: 'f1', name: 'weather', args: { city: 'Paris' } } }] },
      { role: 'user', parts: [{ function_response: { id: 'f1', name: 'weather', response: { tempC: 18 } } }] },
    ],
  };
  const response = {
    content: { role: 'model', parts: [{ text: 'thinking', thought: true }, { text: 'It is 18C.' }] },
    usage_metadata: { prompt_token_count: 20, thoughts_token_count: 7, cached_content_token_count: 6 },
  };

  test('of a model call has Gemini contents, cached and thought tokens', () => {
    const span = normalized({
      'gen_ai.system': 'gcp.vertex.agent',
      'gen_ai.request.model': 'gemini-2.5-pro',
      'gcp.vertex.agent.llm_request': JSON.stringify(request),
      'gcp.vertex.agent.llm_response': JSON.stringify(response),
      'gcp.vertex.agent.session_id': 's-9',
      'gen_ai.usage.input_tokens': 20n,
      'gen_ai.usage.output_tokens': 9n,
    });
    expect([span.kind, span.provider, span.sessionId]).toEqual(['llm', 'gcp.gen_ai', 's-9']);
    expect(JSON.parse(span.input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      asked('Weather?'),
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'f1', name: 'weather', arguments: { city: 'Paris' } }] },
      { role: 'user', parts: [{ type: 'tool_call_response', id: 'f1', response: { tempC: 18 } }] },
    ]);
    expect(JSON.parse(span.output)).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'thinking' },
          { type: 'text', content: 'It is 18C.' },
        ],
      },
    ]);
    expect(span.outputPreview).toBe('It is 18C.');
    expect(span.usage).toMatchObject({ inputTokens: 20, outputTokens: 9, cacheReadTokens: 6, reasoningTokens: 7 });
  });

  test('of a tool ignores the empty model request it carries', () => {
    const span = normalized({
      'gcp.vertex.agent.llm_request': '{}',
      'gcp.vertex.agent.llm_response': '{}',
      'gen_ai.tool.name': 'weather',
      'gcp.vertex.agent.tool_call_args': '{"city":"Paris"}',
      'gcp.vertex.agent.tool_response': '{"tempC":18}',
    });
    expect([span.kind, span.input, span.output]).toEqual(['tool', '{"city":"Paris"}', '{"tempC":18}']);
  });
});

describe('a Laminar span', () => {
  test('has its type, association properties and Anthropic content', () => {
    const span = normalized({
      'lmnr.span.type': 'LLM',
      'lmnr.span.input':
        '[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image","source":{"type":"url","media_type":"image/png","url":"http://x/y.png"}}]}]',
      'lmnr.span.output':
        '[{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"u1","name":"add","input":{"a":1}}]}]',
      'lmnr.association.properties.session_id': 's',
      'lmnr.association.properties.user_id': 'u',
      'lmnr.association.properties.tags': ['x', 'y'],
    });
    expect([span.kind, span.sessionId, span.userId, span.tags]).toEqual(['llm', 's', 'u', ['x', 'y']]);
    expect(JSON.parse(span.input)[0].parts).toEqual([
      { type: 'text', content: 'Hi' },
      { type: 'uri', mime_type: 'image/png', uri: 'http://x/y.png' },
    ]);
    expect(JSON.parse(span.output)[0].parts).toEqual([
      { type: 'reasoning', content: 'hm' },
      { type: 'tool_call', id: 'u1', name: 'add', arguments: { a: 1 } },
    ]);
  });

  test('of the default type is judged by its other attributes', () =>
    expect(normalized({ 'lmnr.span.type': 'DEFAULT', 'gen_ai.request.model': 'x' }).kind).toBe('llm'));
});

describe('an AI SDK span linked to a Langfuse prompt', () => {
  test('refers to that prompt', () => {
    const span = normalized({
      'ai.operationId': 'ai.streamText.doStream',
      'ai.model.provider': 'google.generative-ai',
      'ai.telemetry.metadata.langfusePrompt': '{"name":"greet","version":4,"isFallback":false}',
      'ai.response.text': 'Hello',
      'ai.response.msToFirstChunk': 31.5,
    });
    expect(span.promptRef).toEqual({ id: '', name: 'greet', version: 4, rawVersion: '4', source: 'self' });
    expect([span.kind, span.provider, span.output, span.ttftMs]).toEqual(['llm', 'gcp.gen_ai', 'Hello', 31.5]);
  });
});

describe('an older Traceloop span', () => {
  const span = normalized({
    'llm.request.type': 'chat',
    'gen_ai.system': 'Anthropic',
    'gen_ai.prompt.1.role': 'user',
    'gen_ai.prompt.1.content': '[{"type":"text","text":"Weather?"}]',
    'gen_ai.prompt.0.role': 'system',
    'gen_ai.prompt.0.content': 'Be brief.',
    'gen_ai.prompt.name': 'weather',
    'gen_ai.prompt.version': 'v3',
    'gen_ai.prompt.variable.city': 'Paris',
    'gen_ai.completion.0.role': 'assistant',
    'gen_ai.completion.0.finish_reason': 'tool_calls',
    'gen_ai.completion.0.tool_calls.0.id': 't1',
    'gen_ai.completion.0.tool_calls.0.name': 'weather',
    'gen_ai.completion.0.tool_calls.0.arguments': '{"city":"Paris"}',
    'gen_ai.usage.prompt_tokens': 30n,
    'gen_ai.usage.completion_tokens': 6n,
    'llm.usage.total_tokens': 36n,
    'traceloop.association.properties.session_id': 's',
  });

  test('has its numbered messages in order', () => {
    expect(JSON.parse(span.input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      asked('Weather?'),
    ]);
    expect(JSON.parse(span.output)).toEqual([
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 't1', name: 'weather', arguments: { city: 'Paris' } }],
        finish_reason: 'tool_calls',
      },
    ]);
  });

  test('does not take the prompt reference for a message', () =>
    expect(span.promptRef).toEqual({ id: '', name: 'weather', version: 3, rawVersion: 'v3', source: 'self' }));

  test('has its usage under the names of then', () =>
    expect(span.usage).toMatchObject({ inputTokens: 30, outputTokens: 6, totalTokens: 36 }));

  test('without numbered messages has none for a prompt reference alone', () =>
    expect(normalized({ 'gen_ai.prompt.name': 'weather', 'gen_ai.prompt.version': '3' }).input).toBe(''));
});

describe('structured messages', () => {
  const part = (content: string) =>
    new Map<string, AnyValue>([
      ['type', 'text'],
      ['content', content],
    ]);
  const message = new Map<string, AnyValue>([
    ['role', 'user'],
    ['parts', [part('Hi')]],
  ]);

  test('sent as arrays and kvlists equal those sent as text', () => {
    const structured = normalized({
      'gen_ai.input.messages': [message],
      'gen_ai.system_instructions': [part('Be brief.')],
    });
    const asText = normalized({
      'gen_ai.input.messages': JSON.stringify([asked('Hi')]),
      'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
    });
    expect(structured.input).toBe(asText.input);
    expect(JSON.parse(asText.input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      asked('Hi'),
    ]);
  });

  test('with plain system instructions begin with them', () => {
    const span = normalized({ 'gen_ai.input.messages': 'Hi', 'gen_ai.system_instructions': 'Be brief.' });
    expect(JSON.parse(span.input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      asked('Hi'),
    ]);
    expect(span.inputPreview).toBe('Hi');
  });
});

describe('where a span runs', () => {
  test('is what its resource says, and else what the span says', () => {
    const resource = resourceWith({
      'service.name': 'api',
      'service.version': '1.2',
      'deployment.environment': 'prod',
    });
    const { service, environment, release } = normalized({ 'langfuse.environment': 'test' }, { resource });
    expect([service, environment, release]).toEqual(['api', 'prod', '1.2']);
    const bare = normalized({ 'langfuse.environment': 'test', 'langfuse.release': 'r1' });
    expect([bare.service, bare.environment, bare.release]).toEqual(['', 'test', 'r1']);
  });
});

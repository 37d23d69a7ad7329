import { describe, expect, test } from 'vitest';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import { sumUsage } from '../../../src/domains/summaries/count-usage.ts';
import type { AnyValue, Span } from '../../../src/otlp/span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

/**
 * What libraries without a capture emit, attribute by attribute as their sources set them; each
 * source is named with its commit.
 */
function normalized(attributes: Record<string, AnyValue>, given: Partial<Span> = {}) {
  return normalizeSpan(buildSpan({ attributes: new Map(Object.entries(attributes)), ...given }));
}

const said = (role: string, ...parts: object[]) => ({ role, parts });
const text = (content: string) => ({ type: 'text', content });
const json = (value: unknown) => JSON.stringify(value);
const parse = (value: string): unknown => JSON.parse(value);

// mlflow/mlflow mlflow/tracing/constant.py @0044946: SpanAttributeKey, TokenUsageKey, CostKey, TraceTagKey.
describe('an MLflow span as exported over OTLP', () => {
  const root = normalized({
    'mlflow.traceRequestId': '"tr-1"',
    'mlflow.spanType': '"AGENT"',
    'mlflow.spanFunctionName': '"answer"',
    'mlflow.spanInputs': '{"question": "Weather?"}',
    'mlflow.spanOutputs': '"It is 18C."',
    'session.id': 's-1',
    'user.id': 'u-1',
    'mlflow.traceTag.mlflow.linkedPrompts': '[{"name": "greet", "version": "4"}]',
    'mlflow.traceTag.team': 'search',
  });

  test('of a root has the session, user, tags and linked prompt of its trace', () => {
    expect([root.kind, root.sessionId, root.userId, root.tags]).toEqual(['agent', 's-1', 'u-1', ['team:search']]);
    expect(root.promptRef).toMatchObject({ name: 'greet', version: 4, source: 'self' });
    expect([root.inputPreview, root.outputPreview]).toEqual(['{"question": "Weather?"}', 'It is 18C.']);
  });

  test.each([
    ['CHAT_MODEL', 'llm'],
    ['LLM', 'llm'],
    ['EMBEDDING', 'embedding'],
    ['RETRIEVER', 'retrieval'],
    ['RERANKER', 'reranker'],
    ['TOOL', 'tool'],
    ['CHAIN', 'chain'],
    ['PARSER', 'chain'],
    ['UNKNOWN', 'other'],
  ])('of type %s is of kind %s', (type, kind) =>
    expect(normalized({ 'mlflow.spanType': `"${type}"` }).kind).toBe(kind),
  );

  test('of a model call counts cache reads and writes', () => {
    const usage = {
      ...{ input_tokens: 20, output_tokens: 5, total_tokens: 25 },
      ...{ cache_read_input_tokens: 8, cache_creation_input_tokens: 6 },
    };
    expect(normalized({ 'mlflow.chat.tokenUsage': json(usage) }).usage).toEqual({
      ...{ inputTokens: 20, outputTokens: 5, totalTokens: 25 },
      ...{ cacheReadTokens: 8, cacheWriteTokens: 6, reasoningTokens: 0 },
    });
  });
});

// pydantic/pydantic-ai pydantic_ai_slim/pydantic_ai/models/instrumented.py @0021d09:
// InstrumentedModel._instrument, _emit_events.
describe('a Pydantic AI span of the first format', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } };
  const events = [
    { content: 'Be brief.', role: 'system', 'gen_ai.system': 'openai', 'event.name': 'gen_ai.system.message' },
    { content: 'Hi', role: 'user', 'gen_ai.message.index': 0, 'event.name': 'gen_ai.user.message' },
    { role: 'assistant', tool_calls: [call], 'gen_ai.message.index': 1, 'event.name': 'gen_ai.assistant.message' },
    { content: '2', role: 'tool', id: 'c1', name: 'add', 'event.name': 'gen_ai.tool.message' },
  ];
  const choice = { index: 0, message: { role: 'assistant', content: 'Two.' }, 'event.name': 'gen_ai.choice' };
  const input = [
    said('system', text('Be brief.')),
    said('user', text('Hi')),
    said('assistant', { type: 'tool_call', id: 'c1', name: 'add', arguments: { a: 1 } }),
    said('tool', { type: 'tool_call_response', id: 'c1', response: '2' }),
  ];

  test('of a model call has its events, an attribute, as messages in and out', () => {
    const span = normalized({
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.usage.input_tokens': 40n,
      'gen_ai.usage.output_tokens': 9n,
      'gen_ai.usage.details.reasoning_tokens': 4n,
      'gen_ai.usage.details.cache_read_tokens': 3n,
      'gen_ai.usage.details.cache_write_tokens': 2n,
      model_request_parameters: '{"function_tools": []}',
      events: json([...events, choice]),
      'logfire.json_schema': '{"type": "object"}',
    });
    expect([span.kind, span.model, span.params]).toEqual(['llm', 'gpt-4o-2024-08-06', '{"temperature":0.5}']);
    expect(parse(span.input)).toMatchObject(input);
    expect(parse(span.output)).toEqual([said('assistant', text('Two.'))]);
    expect(span.usage).toMatchObject({ cacheReadTokens: 3, cacheWriteTokens: 2, reasoningTokens: 4, totalTokens: 49 });
  });

  test('of a run has every message and the result', () => {
    const span = normalized({ 'gen_ai.agent.name': 'a', all_messages_events: json(events), final_result: 'Two.' });
    expect([span.kind, span.output]).toEqual(['agent', 'Two.']);
    expect(parse(span.input)).toMatchObject(input);
  });

  test('does not take events of somebody else for messages', () => {
    const span = normalized({ 'gen_ai.operation.name': 'chat', events: '[{"type":"click"},{"type":"key"}]' });
    expect([span.input, span.output]).toEqual(['', '']);
  });
});

// pydantic/logfire pull 1927: ResolvedVariable.__enter__ sets `logfire.variables.<name>` and `.version` as baggage.
describe('a span within a Logfire managed prompt', () => {
  const variable = 'logfire.variables.prompt__support_reply';

  test('refers to the prompt and the version that was resolved', () =>
    expect(normalized({ [variable]: 'production', [`${variable}.version`]: '3' }).promptRef).toEqual({
      ...{ id: '', name: 'support_reply', version: 3, rawVersion: '3', source: 'self' },
    }));

  test('has the label where no version was resolved, and other variables are no prompts', () => {
    expect(normalized({ [variable]: 'code_default' }).promptRef).toMatchObject({
      version: 0,
      rawVersion: 'code_default',
    });
    expect(normalized({ 'logfire.variables.ranking': 'a' }).promptRef).toBeNull();
  });
});

// strands-agents/sdk-python src/strands/telemetry/tracer.py @006ad58.
describe('a Strands span of the latest conventions', () => {
  const details = (messages: Record<string, unknown>) =>
    buildEvent(
      'gen_ai.client.inference.operation.details',
      Object.fromEntries(Object.entries(messages).map(([key, value]) => [key, json(value)])),
    );
  const common = { 'gen_ai.provider.name': 'strands-agents', 'gen_ai.agent.name': 'Agent' };

  test('of an agent repeats its sums under old and new names, and a Langfuse type that says nothing', () => {
    const span = normalized(
      {
        ...common,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.request.model': 'claude-sonnet-4',
        'langfuse.observation.type': 'span',
        'gen_ai.usage.prompt_tokens': 84n,
        'gen_ai.usage.input_tokens': 84n,
        'gen_ai.usage.completion_tokens': 34n,
        'gen_ai.usage.output_tokens': 34n,
        'gen_ai.usage.total_tokens': 118n,
        'gen_ai.usage.cache_read_input_tokens': 16n,
        'gen_ai.usage.cache_write_input_tokens': 12n,
      },
      {
        events: [
          details({ 'gen_ai.output.messages': [{ ...said('assistant', text('18C')), finish_reason: 'end_turn' }] }),
        ],
      },
    );
    expect([span.kind, span.provider, span.outputPreview]).toEqual(['agent', 'strands-agents', '18C']);
    expect(span.usage).toEqual({
      ...{ inputTokens: 84, outputTokens: 34, totalTokens: 118 },
      ...{ cacheReadTokens: 16, cacheWriteTokens: 12, reasoningTokens: 0 },
    });
  });

  test('of a tool has its call and its result from two events', () => {
    const call = { type: 'tool_call', name: 'weather', id: 't1', arguments: { city: 'Paris' } };
    const result = { type: 'tool_call_response', id: 't1', response: [{ text: '18C' }] };
    const span = normalized(
      {
        ...common,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'weather',
        'gen_ai.tool.call.id': 't1',
      },
      {
        name: 'execute_tool weather',
        events: [
          details({ 'gen_ai.input.messages': [said('tool', call)] }),
          details({ 'gen_ai.output.messages': [said('tool', result)] }),
        ],
      },
    );
    expect([span.kind, span.name, span.inputPreview]).toEqual(['tool', 'weather', 'weather({"city":"Paris"})']);
    expect([parse(span.input), parse(span.output)]).toEqual([[said('tool', call)], [said('tool', result)]]);
  });

  test('of a swarm is an agent, of a cycle a chain', () => {
    expect(normalized({ ...common, 'gen_ai.operation.name': 'invoke_swarm' }).kind).toBe('agent');
    expect(normalized({ 'event_loop.cycle_id': '9b1d', 'event_loop.parent_cycle_id': '3c2e' }).kind).toBe('chain');
  });
});

// google/adk-python src/google/adk/telemetry/tracing.py @0798a74: trace_call_llm, trace_merged_tool_calls.
describe('a Google ADK span', () => {
  test('of a call without captured content is an llm call by its model', () => {
    const span = normalized({
      'gen_ai.system': 'gcp.vertex.agent',
      'gen_ai.request.model': 'gemini-2.5-flash',
      'gcp.vertex.agent.invocation_id': 'e-1',
      'gcp.vertex.agent.session_id': 's-1',
      'gcp.vertex.agent.event_id': 'ev-1',
      'gcp.vertex.agent.llm_request': new Map(),
      'gcp.vertex.agent.llm_response': new Map(),
      'gen_ai.request.top_p': 0.95,
      'gen_ai.request.max_tokens': 1024n,
      'gen_ai.usage.input_tokens': 100n,
      'gen_ai.usage.output_tokens': 50n,
      'gen_ai.usage.experimental.reasoning_tokens': 10n,
      'gen_ai.response.finish_reasons': ['stop'],
    });
    expect([span.kind, span.sessionId, span.input, span.output]).toEqual(['llm', 's-1', '', '']);
    expect(span.usage).toMatchObject({ inputTokens: 100, outputTokens: 50, reasoningTokens: 10 });
    expect(span.params).toBe('{"top_p":0.95,"max_tokens":1024}');
  });

  test('of merged tools is a tool with their responses', () => {
    const span = normalized({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': '(merged tools)',
      'gen_ai.tool.call.id': 'ev-2',
      'gcp.vertex.agent.tool_call_args': 'N/A',
      'gcp.vertex.agent.tool_response': '{"result":"18C"}',
      'gcp.vertex.agent.llm_request': '{}',
      'gcp.vertex.agent.llm_response': '{}',
    });
    expect([span.kind, span.name, span.input, span.output]).toEqual([
      'tool',
      '(merged tools)',
      'N/A',
      '{"result":"18C"}',
    ]);
  });
});

// openlit/openlit sdk/python instrumentation/*/utils.py common_chat_logic (stored file 10319671541)
// and semcov SemanticConvention.
describe('an OpenLIT span', () => {
  const span = normalized(
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mistral_ai',
      'gen_ai.request.model': 'mistral-small-latest',
      'gen_ai.response.model': 'mistral-small-2506',
      'gen_ai.request.max_tokens': -1n,
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.tool.name': 'weather, news',
      'gen_ai.tool.call.id': 't1, t2',
      'gen_ai.usage.input_tokens': 42n,
      'gen_ai.usage.output_tokens': 17n,
      'gen_ai.client.token.usage': 59n,
      'gen_ai.usage.cost': 0.0000089,
      'gen_ai.usage.cache_read.input_tokens': 8n,
      'gen_ai.usage.cache_creation.input_tokens': 0n,
      'gen_ai.server.time_to_first_token': 0.031,
      'deployment.environment': 'prod',
    },
    { name: 'chat mistral-small-latest', statusCode: 1 },
  );

  test('of a call that asked for tools is the call and not a tool', () =>
    expect([span.kind, span.name, span.status]).toEqual(['llm', 'chat mistral-small-latest', 'ok']));

  test('has its own cost, latency and cached tokens', () => {
    expect([span.reportedCostNanoUsd, span.ttftMs, span.environment]).toEqual([8_900n, 31, 'prod']);
    expect(span.usage).toMatchObject({ totalTokens: 59, cacheReadTokens: 8, cacheWriteTokens: 0 });
  });
});

// lmnr-ai/lmnr-ts packages/lmnr/src/opentelemetry-lib/tracing/attributes.ts @3dd3a95:
// LaminarAttributes, ASSOCIATION_PROPERTIES.
describe('a Laminar span with the minimum set of attributes', () => {
  const span = normalized({
    'lmnr.span.type': 'LLM',
    'lmnr.span.path': ['handle', 'openai.chat'],
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
    'gen_ai.usage.input_tokens': 42n,
    'gen_ai.usage.output_tokens': 17n,
    'llm.usage.total_tokens': 59n,
    'gen_ai.usage.input_cost': 0.0001,
    'gen_ai.usage.output_cost': 0.0002,
    'gen_ai.usage.cost': 0.0003,
    'lmnr.association.properties.session_id': 'sess-7',
    'lmnr.association.properties.user_id': 'user-42',
  });

  test('has model, tokens, cost, session and user', () => {
    expect([span.kind, span.model, span.provider]).toEqual(['llm', 'gpt-4o-mini-2024-07-18', 'openai']);
    expect(span.usage).toMatchObject({ inputTokens: 42, outputTokens: 17, totalTokens: 59 });
    expect([span.reportedCostNanoUsd, span.sessionId, span.userId]).toEqual([300_000n, 'sess-7', 'user-42']);
  });

  test.each([
    ['TOOL', 'tool'],
    ['EXECUTOR', 'chain'],
    ['EVALUATOR', 'evaluator'],
    ['HUMAN_EVALUATOR', 'evaluator'],
    ['EVALUATION', 'evaluator'],
    ['CACHED', 'other'],
  ])('of type %s is of kind %s', (type, kind) => expect(normalized({ 'lmnr.span.type': type }).kind).toBe(kind));
});

// langchain-ai/langsmith-sdk js/src/experimental/otel/translator.ts @1927be6: LangSmithToOTELTranslator.
describe('a LangSmith span', () => {
  test('of a model call has the message, the finish reason and metadata that are texts', () => {
    const span = normalized({
      'langsmith.span.kind': 'llm',
      'gen_ai.operation.name': 'chat',
      'langsmith.trace.name': 'ChatOpenAI',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.usage.input_tokens': 42n,
      'gen_ai.usage.output_tokens': 17n,
      'gen_ai.usage.total_tokens': 59n,
      'langsmith.metadata.ls_provider': 'openai',
      'langsmith.metadata.session_id': 'sess-7',
      'langsmith.metadata.lc_hub_owner': 'acme',
      'langsmith.metadata.lc_hub_repo': 'rag-prompt',
      'langsmith.metadata.lc_hub_commit_hash': '50442af1',
      'langsmith.span.tags': 'prod, beta',
      'gen_ai.prompt': json({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }),
      'gen_ai.completion': json({
        choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
      }),
      'gen_ai.response.finish_reasons': 'stop',
    });
    expect([span.kind, span.provider, span.sessionId, span.tags]).toEqual([
      'llm',
      'openai',
      'sess-7',
      ['prod', 'beta'],
    ]);
    expect(parse(span.input)).toEqual([said('user', text('Hi'))]);
    expect(parse(span.output)).toEqual([{ ...said('assistant', text('Hello')), finish_reason: 'stop' }]);
    expect(span.promptRef).toEqual({
      ...{ id: '', name: 'rag-prompt', version: 0, rawVersion: '50442af1', source: 'self' },
    });
  });

  test.each([
    ['chain', 'chain', 'chain'],
    ['prompt', 'chat', 'chain'],
    ['tool', 'execute_tool', 'tool'],
    ['retriever', 'embeddings', 'retrieval'],
    ['embedding', 'embeddings', 'embedding'],
  ])('of a %s run, whose operation is %s, is of kind %s', (run, operation, kind) =>
    expect(normalized({ 'langsmith.span.kind': run, 'gen_ai.operation.name': operation }).kind).toBe(kind),
  );
});

// vercel/ai packages/otel/src/gen-ai-open-telemetry.ts @0441f00: onStepStart, onStepFinish,
// onGenerateFinish, onToolExecutionStart.
describe('a run of the AI SDK 7', () => {
  const model = { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o-mini' };
  const tokens = (input: bigint, output: bigint, cached: bigint) => ({
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': cached,
  });
  const chat = { ...model, ...tokens(42n, 17n, 8n), 'gen_ai.operation.name': 'chat' };
  const step = { 'gen_ai.operation.name': 'agent_step' };
  const tool = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'weather',
    'gen_ai.tool.call.id': 't1',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.arguments': '{"city":"Paris"}',
    'gen_ai.tool.call.result': '{"tempC":18}',
  };
  const run: [id: string, parent: string, attributes: Record<string, AnyValue>][] = [
    ['agent', '', { ...model, ...tokens(84n, 34n, 16n), 'gen_ai.operation.name': 'invoke_agent' }],
    ['step1', 'agent', step],
    ['chat1', 'step1', { ...chat, 'gen_ai.response.id': 'r1' }],
    ['tool1', 'step1', tool],
    ['step2', 'agent', step],
    ['chat2', 'step2', { ...chat, 'gen_ai.response.id': 'r2' }],
  ];
  const spans = run.map(([spanId, parentSpanId, attributes]) => ({
    ...{ spanId, parentSpanId, startUnixNano: 0n },
    ...normalized(attributes),
  }));

  test('is an agent of steps, calls and tools', () =>
    expect(spans.map(({ kind }) => kind)).toEqual(['agent', 'chain', 'llm', 'tool', 'chain', 'llm']));

  test('counts its calls and not the sum that the agent repeats', () => {
    const counted = sumUsage(spans.map((span) => ({ ...span, costNanoUsd: span.reportedCostNanoUsd })));
    expect(counted.usage).toMatchObject({ inputTokens: 84, outputTokens: 34, cacheReadTokens: 16 });
    expect([...counted.countedSpanIds].sort()).toEqual(['chat1', 'chat2']);
  });

  test('has the arguments and the result of its tool as they were', () =>
    expect([spans[3]?.name, spans[3]?.input, spans[3]?.output]).toEqual([
      ...['weather', '{"city":"Paris"}', '{"tempC":18}'],
    ]));
});

// genkit-ai/genkit, py: the test that names its span attributes (start_attributes); usage as
// GenerateResponseData has it.
describe('a Genkit span', () => {
  test('of a model action has its model, messages and usage', () => {
    const call = { toolRequest: { name: 'weather', ref: 'c1', input: { city: 'Paris' } } };
    const span = normalized({
      'genkit:name': 'googleai/gemini-2.5-flash',
      'genkit:type': 'action',
      'genkit:metadata:subtype': 'model',
      'genkit:path': '/{chatFlow,t:flow}/{googleai/gemini-2.5-flash,t:action,s:model}',
      'genkit:input': json({ messages: [{ role: 'user', content: [{ text: 'Weather?' }] }], config: {} }),
      'genkit:output': json({
        message: { role: 'model', content: [call, { text: 'One moment.' }] },
        finishReason: 'stop',
        usage: { inputTokens: 42, outputTokens: 17, totalTokens: 62, thoughtsTokens: 3, cachedContentTokens: 8 },
      }),
      'genkit:state': 'success',
    });
    expect([span.kind, span.model, span.provider]).toEqual(['llm', 'gemini-2.5-flash', 'gcp.gen_ai']);
    expect(parse(span.input)).toEqual([said('user', text('Weather?'))]);
    expect(parse(span.output)).toEqual([
      said(
        'assistant',
        { type: 'tool_call', id: 'c1', name: 'weather', arguments: { city: 'Paris' } },
        text('One moment.'),
      ),
    ]);
    expect(span.usage).toMatchObject({ inputTokens: 42, outputTokens: 17, totalTokens: 62 });
    expect(span.usage).toMatchObject({ reasoningTokens: 3, cacheReadTokens: 8 });
  });

  test.each([
    ['tool', 'tool'],
    ['tool.v2', 'tool'],
    ['flow', 'chain'],
    ['executable-prompt', 'chain'],
    ['embedder', 'embedding'],
    ['retriever', 'retrieval'],
    ['reranker', 'reranker'],
    ['evaluator', 'evaluator'],
    ['util', 'other'],
  ])('of subtype %s is of kind %s and has no model', (subtype, kind) =>
    expect(normalized({ 'genkit:metadata:subtype': subtype, 'genkit:name': 'weather' })).toMatchObject({
      kind,
      model: '',
    }),
  );

  test('of a tool has its input and output as they were', () => {
    const span = normalized({
      'genkit:metadata:subtype': 'tool.v2',
      'genkit:input': '{"city":"Paris"}',
      'genkit:output': '{"tempC":18}',
    });
    expect([span.input, span.output]).toEqual(['{"city":"Paris"}', '{"tempC":18}']);
  });
});

// open-telemetry/semantic-conventions docs/gen-ai/mcp.md; the MCP SDKs' server spans carry no arguments.
describe('an MCP span', () => {
  const call = {
    'mcp.method.name': 'tools/call',
    'mcp.protocol.version': '2025-06-18',
    'mcp.session.id': 'm-1',
    'jsonrpc.request.id': '2',
    'gen_ai.tool.name': 'get-weather',
    'network.transport': 'pipe',
  };

  test('of a tool call is that tool, and an error when its type says so', () => {
    const span = normalized({ ...call, 'error.type': 'tool_error' }, { name: 'tools/call get-weather' });
    expect([span.kind, span.name, span.status, span.errorType]).toEqual(['tool', 'get-weather', 'error', 'tool_error']);
    expect(span.sessionId).toBe('');
  });

  test('with an operation name is what that says', () =>
    expect(normalized({ ...call, 'gen_ai.operation.name': 'execute_tool' }).kind).toBe('tool'));

  test('of another method is of no kind of its own', () =>
    expect(normalized({ 'mcp.method.name': 'tools/list' }, { name: 'tools/list' }).kind).toBe('other'));
});

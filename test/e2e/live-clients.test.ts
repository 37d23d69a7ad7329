import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { clientApp, type EndedApp, runApp } from '../support/client-app.ts';
import { type ProxiedRequest, startProxy } from '../support/proxy.ts';
import { spanTree } from '../support/span-tree.ts';
import { chatUsage, embeddingTokens, type StubModel, startStubModel } from '../support/stub-model.ts';
import { type ExecutionDetailWire, getExecution, listExecutions } from '../support/traces.ts';
import { until } from '../support/until.ts';

interface Client {
  app: string;
  /** As `spanTree` has it. */
  tree: string;
  execution: object;
  /** Calls whose tokens the client reports, and of those the ones with the cached and reasoning parts. */
  chats: number;
  chatsWithParts: number;
  embeddings: number;
  /** Tokens that the client estimates by itself, or reports of a call of its own. */
  other?: { input: number; output: number; cached: number };
  /** Names and costs of the spans that say what they cost. */
  costs?: string[];
  /** Input of the tool that ran; its output is the same everywhere. */
  toolInput: unknown;
  /** Names of the spans with the time to the first token. */
  timed: string[];
  errors: object[];
  /** Spans that hold what was asked of a model and what it answered. */
  conversations: number;
}

const city = { city: 'Paris' };
const caller = { session_id: 'sess-7', user_id: 'user-42' };
const tags = ['prod', 'beta'];
const answered = 'gpt-4o-mini-2024-07-18';
const greeted = { prompt_id: null, prompt_version: 7, name: 'greet' };
const asked = { prompt_id: null, prompt_version: 3, name: 'weather-answer' };
const apiCallError = {
  type: 'AI_APICallError',
  message: 'Invalid value',
  stack: expect.stringContaining('generateText'),
};

const clients: Record<string, Client> = {
  'OpenLLMetry (Traceloop)': {
    app: 'traceloop.mjs',
    tree: `
chain: weather_workflow.workflow
  agent: weather_agent.agent
    llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
    llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
    tool: get_weather.tool
  chain: plain_chat.task
    llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  llm: chat gpt-4o-mini gpt-4o-mini ERROR
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 7(0)>10(0)`,
    execution: {
      models: [answered],
      providers: ['openai'],
      prompts: [asked],
      tags: [],
      service: 'weather-app',
      ...caller,
    },
    chats: 4,
    chatsWithParts: 0,
    embeddings: 0,
    // It counts a stream's tokens itself, whatever the model says.
    other: { input: 7, output: 10, cached: 0 },
    toolInput: { args: [], kwargs: city },
    timed: [],
    errors: [{ type: 'invalid_value', message: '400 Invalid value', stack: expect.stringContaining('APIError') }],
    conversations: 5,
  },
  'OpenInference (Phoenix)': {
    app: 'openinference.mjs',
    // Its context sets the prompt's template on every span, without a name; it reports no tokens of streams and embeddings.
    tree: `
chain: handle ?@3
  agent: weather_agent ?@3
    llm: OpenAI Chat Completions gpt-4o-mini-2024-07-18 42(8)>17(5) ?@3
    llm: OpenAI Chat Completions gpt-4o-mini-2024-07-18 42(8)>17(5) ?@3
    tool: get_weather ?@3
  embedding: OpenAI Embeddings text-embedding-3-small ?@3
  llm: OpenAI Chat Completions gpt-4o-mini ?@3
  llm: OpenAI Chat Completions gpt-4o-mini-2024-07-18 42(8)>17(5) ?@3
  llm: OpenAI Responses gpt-4o-mini-2024-07-18 42(8)>17(5) ?@3
  retrieval: retrieve ?@3
  tool: get_forecast ?@3 ERROR`,
    execution: { models: [answered], providers: ['openai'], tags, ...caller },
    chats: 4,
    chatsWithParts: 4,
    embeddings: 0,
    toolInput: city,
    timed: [],
    errors: [{ type: 'Error', message: 'no forecast', stack: expect.stringContaining('failingTool') }],
    conversations: 5,
  },
  Langfuse: {
    app: 'langfuse.mjs',
    // Its wrapper takes every call for a generation.
    tree: `
agent: handle
  llm: chat gpt-4o-mini 42(8)>17(5) weather-answer@3
  llm: chat gpt-4o-mini weather-answer@3 ERROR
  llm: chat gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
  llm: chat gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
  llm: chat gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
  llm: chat gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
  llm: chat text-embedding-3-small weather-answer@3
  llm: manual-gen gpt-4o 10(2)>5(0) greet@7
  tool: get_weather`,
    execution: {
      models: expect.arrayContaining([answered, 'gpt-4o-mini', 'gpt-4o']),
      prompts: expect.arrayContaining([asked, greeted]),
      environment: 'test',
      tags,
      ...caller,
    },
    chats: 5,
    chatsWithParts: 5,
    embeddings: 0,
    other: { input: 10, output: 5, cached: 2 },
    costs: ['chat 0.000000', 'manual-gen 0.000030'],
    toolInput: city,
    timed: ['chat'],
    errors: [{ type: null, message: 'Error: 400 Invalid value', stack: null }],
    conversations: 6,
  },
  "OpenTelemetry's instrumentation": {
    app: 'otel-instrumentation.cjs',
    // What was said goes to the log signal; the parts of the usage go nowhere.
    tree: `
other: handle-request weather-answer@3
  embedding: embeddings text-embedding-3-small text-embedding-3-small 6(0)>0(0)
  llm: chat gpt-4o-mini gpt-4o-mini ERROR
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0)
  tool: execute_tool get_weather`,
    execution: {
      models: expect.arrayContaining([answered, 'text-embedding-3-small']),
      providers: ['openai'],
      prompts: [asked],
      tags: [],
      ...caller,
    },
    chats: 5,
    chatsWithParts: 0,
    embeddings: 1,
    toolInput: city,
    timed: [],
    errors: [{ type: 'BadRequestError', message: '400 Invalid value', stack: null }],
    conversations: 0,
  },
  'AI SDK 6': {
    app: 'vercel-ai.mjs',
    // The outer spans repeat the sum of the inner ones; generateObject reports no parts.
    tree: `
other: handle-request
  chain: ai.embed text-embedding-3-small 6(0)>0(0) weather-answer@3
    embedding: ai.embed.doEmbed text-embedding-3-small 6(0)>0(0) weather-answer@3
  chain: ai.generateObject gpt-4o-mini 42(0)>17(0) weather-answer@3
    llm: ai.generateObject.doGenerate gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  chain: ai.generateText gpt-4o-mini 42(8)>17(5) weather-answer@3
    llm: ai.generateText.doGenerate gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
  chain: ai.generateText gpt-4o-mini 84(16)>34(10) weather-answer@3
    llm: ai.generateText.doGenerate gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
    llm: ai.generateText.doGenerate gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3
    tool: ai.toolCall weather-answer@3
  chain: ai.generateText gpt-4o-mini weather-answer@3 ERROR
    llm: ai.generateText.doGenerate gpt-4o-mini weather-answer@3 ERROR
  chain: ai.streamText gpt-4o-mini 42(8)>17(5) weather-answer@3
    llm: ai.streamText.doStream gpt-4o-mini-2024-07-18 42(8)>17(5) weather-answer@3`,
    execution: {
      models: expect.arrayContaining([answered, 'text-embedding-3-small']),
      providers: ['stub'],
      prompts: [asked],
      tags,
      ...caller,
    },
    chats: 5,
    chatsWithParts: 4,
    embeddings: 1,
    toolInput: city,
    timed: ['weather-stream'],
    errors: [apiCallError, apiCallError],
    conversations: 5,
  },
};

let api: TestApi;
let model: StubModel;

beforeAll(async () => {
  [api, model] = await Promise.all([startApi(), startStubModel()]);
});
afterAll(() => Promise.all([api?.close(), model?.close()]));

describe.each(Object.entries(clients))('an application with %s', (_name, client) => {
  const tree = client.tree.trimStart().split('\n');
  let ended: EndedApp;
  let requests: ProxiedRequest[];
  let execution: ExecutionDetailWire;

  beforeAll(async () => {
    const app = clientApp(client.app);
    const project = await newProject(api);
    // Every exporter meets a busy server first, so all that follows holds after a resend as well.
    const proxy = await startProxy(api.url, (_, index) =>
      index === 0 ? { status: 503, headers: { 'Retry-After': '1' } } : undefined,
    );
    ended = await runApp(app, {
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'none',
      PROMPTLANE_URL: proxy.url,
      PROMPTLANE_KEY: project.key,
      // Of Node itself, about what the packages use.
      NODE_NO_WARNINGS: '1',
    }).finally(() => proxy.close());
    requests = proxy.requests;
    expect(ended, ended.output).toMatchObject({ code: 0 });
    execution = await untilOnlyExecution(project, tree.length);
  });

  test('ends well and has nothing to say about its exporter', () => {
    expect(ended).toEqual({ code: 0, output: '' });
  });

  test('sends its spans in one request, and after 503 the same bytes again', () => {
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(2).fill('POST /api/v1/traces'));
    expect(requests[1]?.body).toEqual(requests[0]?.body);
  });

  test('becomes one whole execution with its caller, models and prompts', () => {
    const { spans, ...summary } = execution;
    expect(spanTree(spans)).toEqual(tree);
    expect(summary).toMatchObject({ complete: true, missing_parents: [], name: spans[0]?.name, ...client.execution });
    expect(spans.flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  test('has every call counted once, with the cached and reasoning parts that it tells', () => {
    const { chats, chatsWithParts, embeddings, other = { input: 0, output: 0, cached: 0 } } = client;
    const input = chats * chatUsage.input + embeddings * embeddingTokens + other.input;
    const output = chats * chatUsage.output + other.output;
    expect(execution.usage).toEqual({
      input_tokens: input,
      output_tokens: output,
      cache_read_tokens: chatsWithParts * chatUsage.cached + other.cached,
      cache_write_tokens: 0,
      reasoning_tokens: chatsWithParts * chatUsage.reasoning,
      total_tokens: input + output,
    });
  });

  test('shows what was asked and answered, by the model and by the tool', () => {
    const { spans } = execution;
    const conversations = spans.filter(
      ({ kind, input, output }) =>
        kind === 'llm' &&
        /Weather in Paris\?|"hi"/.test(JSON.stringify(input)) &&
        /It is 18C|get_weather|tempC|"hello"/.test(JSON.stringify(output)),
    );
    expect(conversations).toHaveLength(client.conversations);
    const tool = spans.find(({ kind, status }) => kind === 'tool' && status !== 'error');
    expect(tool).toMatchObject({
      name: expect.stringMatching(/^get_weather/),
      input: client.toolInput,
      output: { ...city, tempC: 18 },
    });
  });

  test('has its failures, and the time to the first token where the client tells it', () => {
    const { spans } = execution;
    const failed = spans.filter(({ status }) => status === 'error');
    expect(failed.map(({ error }) => error)).toEqual(client.errors);
    expect(execution.error_count).toBe(client.errors.length);
    const timed = spans.filter(({ ttft_ms }) => ttft_ms !== null);
    expect(timed.map(({ name }) => name)).toEqual(client.timed);
    for (const { ttft_ms: ttft, duration_ms: duration } of timed) {
      expect(ttft).toBeGreaterThan(0);
      expect(ttft).toBeLessThanOrEqual(duration);
    }
  });

  test('keeps the costs that it reports', () => {
    const reported = execution.spans.filter(({ cost_source: source }) => source === 'reported');
    expect(reported.map(({ span_name: name, cost }) => `${name} ${cost}`).toSorted()).toEqual(client.costs ?? []);
  });
});

/** Waits until the project has one execution, whole. */
async function untilOnlyExecution(project: ProjectOfTest, spanCount: number): Promise<ExecutionDetailWire> {
  let last: unknown;
  const found = until(`one execution of ${spanCount} spans`, 15_000, async () => {
    const { data } = (await listExecutions(api, project)).body;
    last = data.map(({ trace_id, span_count }) => ({ trace_id, span_count }));
    const [only] = data;
    return data.length === 1 && only?.span_count === spanCount && only.trace_id;
  });
  const traceId = await found.catch((error: Error) => {
    throw new Error(`${error.message}; last: ${JSON.stringify(last)}`);
  });
  return (await getExecution(api, project, traceId)).body;
}

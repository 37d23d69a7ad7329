import { expect } from 'vitest';
import { answeredModel } from './stub-model.ts';

/** An application in test/clients/apps, and the values that must be read from it. */
export interface SdkClient {
  app: string;
  /** In the format of `spanTree`. */
  tree: string;
  execution: object;
  /** The number of calls whose tokens the client reports, and the number of those with cached and reasoning tokens. */
  chats: number;
  chatsWithParts: number;
  embeddings: number;
  /** Tokens that the client estimates itself, or reports of its own call. */
  other?: { input: number; output: number; cached: number };
  /** Names and costs of the spans that report a cost. */
  costs?: string[];
  /** Input of the tool call. Its output is the same for all clients. */
  toolInput: unknown;
  /** Names of the spans with the time to the first token. */
  timed: string[];
  errors: object[];
  /** Number of spans with the input and the output of a model. */
  conversations: number;
}

/** The input of the tool. */
export const city = { city: 'Paris' };
const caller = { session_id: 'sess-7', user_id: 'user-42' };
const tags = ['prod', 'beta'];
const greeted = { prompt_id: null, prompt_version: 7, name: 'greet' };
const asked = { prompt_id: null, prompt_version: 3, name: 'weather-answer' };
const apiCallError = {
  type: 'AI_APICallError',
  message: 'Invalid value',
  stack: expect.stringContaining('generateText'),
};

export const clients: Record<string, SdkClient> = {
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
      models: [answeredModel, 'gpt-4o-mini'],
      providers: ['openai'],
      prompts: [asked],
      tags: [],
      service: 'weather-app',
      ...caller,
    },
    chats: 4,
    chatsWithParts: 0,
    embeddings: 0,
    // It counts the tokens of a stream itself and ignores those of the model.
    other: { input: 7, output: 10, cached: 0 },
    toolInput: { args: [], kwargs: city },
    timed: [],
    errors: [{ type: 'invalid_value', message: '400 Invalid value', stack: expect.stringContaining('APIError') }],
    conversations: 5,
  },
  'OpenInference (Phoenix)': {
    app: 'openinference.mjs',
    // Its context sets the template of the prompt on every span, without a name. It does not report
    // tokens of streams and embeddings.
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
    execution: {
      models: [answeredModel, 'gpt-4o-mini', 'text-embedding-3-small'],
      providers: ['openai'],
      tags,
      ...caller,
    },
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
    // Its wrapper records every call as a generation.
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
      models: expect.arrayContaining([answeredModel, 'gpt-4o-mini', 'gpt-4o']),
      prompts: expect.arrayContaining([
        { ...asked, calls: 7 },
        { ...greeted, calls: 1 },
      ]),
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
    // Inputs and outputs are sent as logs. The parts of the usage are not sent.
    tree: `
other: handle-request weather-answer@3
  embedding: embeddings text-embedding-3-small text-embedding-3-small 6(0)>0(0)
  llm: chat gpt-4o-mini gpt-4o-mini weather-answer@3 ERROR
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  llm: chat gpt-4o-mini gpt-4o-mini-2024-07-18 42(0)>17(0) weather-answer@3
  tool: execute_tool get_weather`,
    execution: {
      models: expect.arrayContaining([answeredModel, 'text-embedding-3-small']),
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
    // The outer spans repeat the sum of the inner spans. generateObject does not report the parts of the usage.
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
      models: expect.arrayContaining([answeredModel, 'text-embedding-3-small']),
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

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { listen } from '../../src/http/server.ts';

export interface StubModel {
  /** The base URL for a client. */
  url: string;
  close(): Promise<void>;
}

/** The usage in the response of every chat call. 8 input tokens are cached, and 5 output tokens are reasoning. */
export const chatUsage = { input: 42, cached: 8, output: 17, reasoning: 5 } as const;
export const embeddingTokens = 6;
export const answeredModel = 'gpt-4o-mini-2024-07-18';
/** A request with these words gets 400. */
const refusedWords = 'trigger bad request';
const answer = 'It is 18C and cloudy in Paris.';

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string() })).default([]),
  tools: z.array(z.unknown()).default([]),
  response_format: z.object({ type: z.string() }).optional(),
  encoding_format: z.string().optional(),
  stream: z.boolean().default(false),
  stream_options: z.object({ include_usage: z.boolean().optional() }).optional(),
});
type ModelRequest = z.infer<typeof requestSchema>;

const answers: Record<string, (request: ModelRequest, id: number, response: ServerResponse) => void> = {
  '/v1/chat/completions': (request, id, response) =>
    request.stream ? void streamChat(request, id, response) : sendJson(response, 200, chat(request, id)),
  '/v1/embeddings': (request, _, response) => sendJson(response, 200, embeddings(request)),
  '/v1/responses': (_, id, response) => sendJson(response, 200, modelResponse(id)),
};

/**
 * Starts a server on loopback with the operations of OpenAI's API that clients in tests call. Every
 * response has a different id.
 */
export async function startStubModel(): Promise<StubModel> {
  let answered = 0;
  const server = await listen({ app, port: 0, host: '127.0.0.1' });

  async function app(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const respond = answers[incoming.url ?? ''];
    if (respond === undefined) {
      sendJson(response, 404, fault(`no route ${incoming.url}`));
    } else if (body.includes(refusedWords)) {
      sendJson(response, 400, fault('Invalid value'));
    } else {
      respond(requestSchema.parse(JSON.parse(body)), ++answered, response);
    }
  }

  return { url: `http://127.0.0.1:${server.port}/v1`, close: () => server.close(1_000) };
}

/**
 * Returns a tool call if a tool has not returned its result yet, JSON if a schema is given, and
 * otherwise a sentence.
 */
function message(request: ModelRequest) {
  const toolsWait = request.tools.length > 0 && request.messages.at(-1)?.role !== 'tool';
  const content = request.response_format?.type === 'json_schema' ? '{"city":"Paris","tempC":18}' : answer;
  const call = { id: 'call_stub', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
  return toolsWait
    ? { finishReason: 'tool_calls', role: 'assistant', content: null, tool_calls: [call] }
    : { finishReason: 'stop', role: 'assistant', content };
}

const completionUsage = {
  prompt_tokens: chatUsage.input,
  completion_tokens: chatUsage.output,
  total_tokens: chatUsage.input + chatUsage.output,
  prompt_tokens_details: { cached_tokens: chatUsage.cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: chatUsage.reasoning, audio_tokens: 0 },
};

const createdSeconds = 1_763_683_200;

function chat(request: ModelRequest, id: number) {
  const { finishReason, ...answered } = message(request);
  return {
    id: `chatcmpl-stub${id}`,
    object: 'chat.completion',
    created: createdSeconds,
    model: answeredModel,
    choices: [{ index: 0, message: answered, logprobs: null, finish_reason: finishReason }],
    usage: completionUsage,
  };
}

/** Sends each word in a separate turn, and the usage at the end if it was requested. */
async function streamChat(request: ModelRequest, id: number, response: ServerResponse): Promise<void> {
  const head = {
    id: `chatcmpl-stub${id}`,
    object: 'chat.completion.chunk',
    created: createdSeconds,
    model: answeredModel,
  };
  const choice = (delta: object, finishReason: string | null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
  const words = answer.split(/(?<= )/).map((content) => choice({ content }, null));
  const chunks = [choice({ role: 'assistant', content: '' }, null), ...words, choice({}, 'stop')];
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const chunk of chunks) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    await nextTurn();
  }
  if (request.stream_options?.include_usage) {
    response.write(`data: ${JSON.stringify({ ...head, choices: [], usage: completionUsage })}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

function embeddings({ model, encoding_format: format }: ModelRequest) {
  const vector = [0.25, -0.5, 1];
  const embedding = format === 'base64' ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector;
  return {
    object: 'list',
    model,
    data: [{ object: 'embedding', index: 0, embedding }],
    usage: { prompt_tokens: embeddingTokens, total_tokens: embeddingTokens },
  };
}

function modelResponse(id: number) {
  const text = { type: 'output_text', text: answer, annotations: [] };
  return {
    id: `resp_stub${id}`,
    object: 'response',
    created_at: createdSeconds,
    status: 'completed',
    model: answeredModel,
    output: [{ type: 'message', id: `msg_stub${id}`, status: 'completed', role: 'assistant', content: [text] }],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    metadata: {},
    usage: {
      input_tokens: chatUsage.input,
      input_tokens_details: { cached_tokens: chatUsage.cached },
      output_tokens: chatUsage.output,
      output_tokens_details: { reasoning_tokens: chatUsage.reasoning },
      total_tokens: chatUsage.input + chatUsage.output,
    },
  };
}

function fault(text: string) {
  return { error: { message: text, type: 'invalid_request_error', param: null, code: 'invalid_value' } };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

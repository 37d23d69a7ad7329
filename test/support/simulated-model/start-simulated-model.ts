import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Faults, faultOf, noFaults } from './faults.ts';
import { roll, tokensOf } from './rolls.ts';
import { kindOf, type SimulatedKind, simulatedReply } from './simulated-reply.ts';
import type { SimulatedTask } from './simulated-task.ts';
import { tickets } from './tickets.ts';

/** A request as the server got it, and how it ended. */
export interface LoggedRequest {
  kind: SimulatedKind | undefined;
  model: string;
  messages: { role: string; content: string }[];
  /** The contents of all messages. */
  text: string;
  params: Record<string, unknown>;
  headers: IncomingMessage['headers'];
  /** 0 while there is no response, and for good if the caller left. */
  status: number;
  atMs: number;
}

export interface SimulatedStats {
  /** Responses with a text: what a provider bills. */
  billed: Record<SimulatedKind, number>;
  inputTokens: number;
  outputTokens: number;
  /** Responses with an error. */
  refused: number;
  inFlight: number;
  inFlightMax: number;
  /** Requests that the caller left before their response. */
  aborted: number;
}

export interface SimulatedModel {
  /** The base URL for a client: with `/v1`. */
  url: string;
  readonly stats: Readonly<SimulatedStats>;
  readonly requests: readonly LoggedRequest[];
  setFaults(faults: Partial<Faults>): void;
  close(): Promise<void>;
}

export interface SimulatedModelOptions<F> {
  seed?: number;
  faults?: Partial<Faults>;
  task?: SimulatedTask<F>;
  /** If given, requests with another key get 401. */
  apiKey?: string;
  /** A fixed port, so that a model can come back; 0 by default. */
  port?: number;
}

/**
 * Starts an endpoint on loopback with OpenAI's `POST /v1/chat/completions` and the models `sim-task`,
 * `sim-reflect` and `sim-judge` of `simulated-reply.ts`. The same request gets the same text,
 * except that the task model at a temperature above 0 looks at `seed` as well.
 */
export async function startSimulatedModel<F = unknown>(
  options: SimulatedModelOptions<F> = {},
): Promise<SimulatedModel> {
  const { seed = 1, apiKey, port = 0 } = options;
  const task = (options.task ?? tickets) as SimulatedTask<F>;
  let faults = { ...noFaults, ...options.faults };
  const requests: LoggedRequest[] = [];
  const stats: SimulatedStats = {
    ...{ billed: { task: 0, reflect: 0, judge: 0 }, inputTokens: 0, outputTokens: 0 },
    ...{ refused: 0, inFlight: 0, inFlightMax: 0, aborted: 0 },
  };

  const server = createServer(async (incoming, response) => {
    stats.inFlightMax = Math.max(stats.inFlightMax, ++stats.inFlight);
    let request: LoggedRequest | undefined;
    response.on('close', () => {
      stats.inFlight--;
      if (!response.writableEnded) stats.aborted++;
      else if (request !== undefined) request.status = response.statusCode;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (incoming.url !== '/v1/chat/completions') return send(response, 404, { error: { message: 'Not found.' } });
    request = readRequest(incoming, Buffer.concat(chunks).toString());
    requests.push(request);
    await respond(request, requests.length, response).catch((error) => response.destroy(error));
  });

  async function respond(request: LoggedRequest, number: number, response: ServerResponse): Promise<void> {
    const { kind } = request;
    if (faults.latencyMs > 0) await delay(faults.latencyMs);
    const fault = faultOf(faults, { ...request, share: roll('fault', seed, number), apiKey });
    if (fault === 'hang') return;
    if (fault !== undefined) {
      stats.refused++;
      return send(response, fault.status, { error: fault.error }, fault.headers);
    }
    if (kind === undefined || response.destroyed) return;
    const sample = Number(request.params.temperature ?? 1) > 0 ? Number(request.params.seed ?? 0) : 0;
    const isJson = request.params.response_format !== undefined;
    const text = faults.garbage.includes(kind)
      ? 'The weather is fine today.'
      : simulatedReply(task, { model: request.model, text: request.text, isJson }, { seed, sample });
    const usage = { prompt_tokens: tokensOf(request.text), completion_tokens: tokensOf(text) };
    stats.billed[kind]++;
    stats.inputTokens += usage.prompt_tokens;
    stats.outputTokens += usage.completion_tokens;
    send(response, 200, {
      ...{ id: `chatcmpl-${number}`, object: 'chat.completion', created: 0, model: request.model },
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      ...(faults.noUsage ? {} : { usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens } }),
    });
  }

  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stats,
    requests,
    setFaults(changed) {
      faults = { ...faults, ...changed };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readRequest({ headers }: IncomingMessage, body: string): LoggedRequest {
  const { model, messages, ...params } = JSON.parse(body);
  const text = messages.map(({ content }: { content: string }) => content).join('\n');
  return { kind: kindOf(model), model, messages, text, params, headers, status: 0, atMs: Date.now() };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

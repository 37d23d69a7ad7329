import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Respond = (response: ServerResponse, body: Record<string, unknown>) => void;

export interface ScriptedModel {
  /** The base URL for a client. */
  url: string;
  requests: { path: string; headers: IncomingMessage['headers']; body: Record<string, unknown> }[];
  /** Requests in progress: now, and at most so far. */
  readonly inFlight: number;
  readonly inFlightMax: number;
  close(): Promise<void>;
}

/** Starts an endpoint on loopback whose n-th response is the n-th of the script, and later the last one. */
export async function startScriptedModel(script: readonly Respond[]): Promise<ScriptedModel> {
  const requests: ScriptedModel['requests'] = [];
  let inFlight = 0;
  let inFlightMax = 0;
  const server = createServer(async (incoming, response) => {
    inFlightMax = Math.max(inFlightMax, ++inFlight);
    response.on('close', () => {
      inFlight--;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    requests.push({ path: incoming.url ?? '', headers: incoming.headers, body });
    (script[requests.length - 1] ?? script.at(-1))?.(response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get inFlight() {
      return inFlight;
    },
    get inFlightMax() {
      return inFlightMax;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Responds with JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Respond {
  return (response) =>
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Responds with a completion; without usage if `usage` is null. */
export function completion(text: string, usage: object | null = { prompt_tokens: 7, completion_tokens: 3 }): Respond {
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }];
  return json(200, { id: 'c', object: 'chat.completion', choices, ...(usage && { usage }) });
}

/** Never responds. */
export const hang: Respond = () => undefined;

import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from '../../src/http/server.ts';

export interface ProxiedRequest {
  method: string;
  url: string;
  body: Buffer;
}

export interface TestProxy {
  url: string;
  /** Everything that came, in order. */
  requests: ProxiedRequest[];
  close(): Promise<void>;
}

/** An answer of the proxy's own. */
export interface OwnAnswer {
  status: number;
  headers?: Record<string, string>;
}

/** Stands in front of a server and keeps what passes; `intercept` may answer a request instead of the server. */
export async function startProxy(
  targetUrl: string,
  intercept: (request: ProxiedRequest, index: number) => OwnAnswer | undefined = () => undefined,
): Promise<TestProxy> {
  const requests: ProxiedRequest[] = [];
  const server = await listen({ app, port: 0, host: '127.0.0.1' });

  async function app(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const seen = { method: incoming.method ?? '', url: incoming.url ?? '', body: Buffer.concat(chunks) };
    const own = intercept(seen, requests.push(seen) - 1);
    if (own === undefined) forward(targetUrl, incoming, seen.body, response);
    else response.writeHead(own.status, own.headers).end();
  }

  return { url: `http://127.0.0.1:${server.port}`, requests, close: () => server.close(1_000) };
}

function forward(targetUrl: string, incoming: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { method, url, headers } = incoming;
  const { 'transfer-encoding': _, ...kept } = headers;
  const target = new URL(url ?? '/', targetUrl);
  const outgoing = request(
    target,
    { method, headers: { ...kept, host: target.host, 'content-length': body.length } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  outgoing.once('error', () => response.destroy());
  outgoing.end(body);
}

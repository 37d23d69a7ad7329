import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from '../../src/http/server.ts';

export interface ProxiedRequest {
  method: string;
  url: string;
  body: Buffer;
}

export interface TestProxy {
  url: string;
  /** All received requests, in order. */
  requests: ProxiedRequest[];
  close(): Promise<void>;
}

/** What to do with a request: respond itself, forward it to another server, or lose the response. */
export type Interception =
  | { status: number; headers?: Record<string, string> }
  | { forwardTo: string }
  | { loseAnswer: true };

/** A proxy in front of a server that records requests. `intercept` can respond instead of the server. */
export async function startProxy(
  targetUrl: string,
  intercept: (request: ProxiedRequest, index: number) => Interception | undefined = () => undefined,
): Promise<TestProxy> {
  const requests: ProxiedRequest[] = [];
  const server = await listen({ app, port: 0, host: '127.0.0.1' });

  async function app(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const seen = { method: incoming.method ?? '', url: incoming.url ?? '', body: Buffer.concat(chunks) };
    const interception = intercept(seen, requests.push(seen) - 1);
    if (interception && 'status' in interception) {
      response.writeHead(interception.status, interception.headers).end();
      return;
    }
    const target = interception && 'forwardTo' in interception ? interception.forwardTo : targetUrl;
    const lost = interception !== undefined && 'loseAnswer' in interception;
    forward(target, incoming, seen.body, (answer) => {
      if (answer === undefined || lost) {
        answer?.resume();
        response.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
  }

  return {
    url: atProxy(targetUrl, `http://127.0.0.1:${server.port}`),
    requests,
    close: () => server.close(1_000),
  };
}

/** Returns the address of a proxy, with everything else of the target: user, password, path and parameters. */
export function atProxy(targetUrl: string, proxyUrl: string): string {
  const url = new URL(targetUrl);
  url.host = new URL(proxyUrl).host;
  return url.href.replace(/\/$/, '');
}

/** Forwards a request. Calls back with the response, or without one if the connection fails. */
function forward(
  targetUrl: string,
  incoming: IncomingMessage,
  body: Buffer,
  done: (answer: IncomingMessage | undefined) => void,
): void {
  const { 'transfer-encoding': _, ...headers } = incoming.headers;
  const target = new URL(incoming.url ?? '/', targetUrl);
  const options = {
    method: incoming.method,
    headers: { ...headers, host: target.host, 'content-length': body.length },
  };
  const outgoing = request(target, options, done);
  outgoing.once('error', () => done(undefined));
  outgoing.end(body);
}

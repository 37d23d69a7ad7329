import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { refusalOf } from './admission.ts';
import { type Backend, runQuery } from './run-query.ts';

/** `http_max_uri_size` of a real server. Long `param_*` values are in the URL. */
const HEADER_BYTES_MAX = 1024 * 1024;
const KEEP_ALIVE_MS = 30_000;

export interface ClickHouseHttp {
  server: Server;
  /** Stops listening and waits for running statements. Selects are stopped after `selectGraceMs`. */
  drain(selectGraceMs: number): Promise<void>;
}

/**
 * Creates the HTTP interface of ClickHouse for the embedded engine. It requires the password. It
 * does not listen yet.
 */
export function createHttp(backend: Backend, password?: string): ClickHouseHttp {
  const running = new Map<AbortController, Promise<void>>();
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      if (!server.listening) response.setHeader('Connection', 'close');
      const gone = new AbortController();
      response.once('close', () => {
        if (!response.writableFinished) gone.abort();
      });
      const answered = answer({ backend, password, signal: gone.signal }, request, response).finally(() =>
        running.delete(gone),
      );
      running.set(gone, answered);
    },
  );
  return {
    server,
    async drain(selectGraceMs) {
      server.close();
      const timer = setTimeout(() => {
        for (const gone of running.keys()) gone.abort();
        server.closeAllConnections();
      }, selectGraceMs);
      while (running.size > 0) await Promise.all(running.values());
      clearTimeout(timer);
      server.closeAllConnections();
    },
  };
}

async function answer(
  { backend, password, signal }: { backend: Backend; password: string | undefined; signal: AbortSignal },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = addressOf(request);
  const isProbe = pathname === '/ping' || pathname === '/replicas_status';
  const refusal = refusalOf(request, searchParams, isProbe ? undefined : password);
  if (refusal !== undefined) {
    request.resume();
    return sendText(response, refusal.status, refusal.text);
  }
  if (isProbe) return sendText(response, 200, 'Ok.\n');
  if (pathname !== '/') return sendText(response, 404, `There is no handle ${pathname}\n`);
  const isGreeting = request.method === 'GET' && !searchParams.has('query');
  if (isGreeting) return sendText(response, 200, 'Ok.\n');
  if (request.method !== 'GET' && request.method !== 'POST') {
    return sendText(response, 501, `Method ${request.method} is not implemented\n`);
  }
  await runQuery(backend, request, searchParams, response, signal);
  request.resume();
}

function addressOf(request: IncomingMessage): URL {
  const url = `http://clickhouse${request.url ?? '/'}`;
  return URL.canParse(url) ? new URL(url) : new URL('http://clickhouse/malformed');
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=UTF-8' }).end(text);
}

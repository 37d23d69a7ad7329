import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { atProxy } from './proxy.ts';

export interface RefusingClickHouse {
  url: string;
  /** The outcomes of inserts into the table, in order: an error code, or 0 for a successful insert. */
  answers: number[];
  close(): Promise<void>;
}

export interface RefusingOptions {
  /** The table whose inserts may be refused. */
  table?: string;
  /**
   * The engine for all other requests. Without it, every other insert succeeds, and reads other
   * than of the clock return nothing.
   */
  engineUrl?: string;
  /** The message of the refusals. */
  message?: string;
  /** The text of a refusal, instead of one of an exception with the message. */
  textOf?: (code: number) => string;
}

/** An insert for which `codeOf` returns this has no answer. */
export const silence = -1;

/** Accepts inserts like ClickHouse, and refuses those for which `codeOf` returns an error code. */
export async function startRefusingClickHouse(
  codeOf: (body: Buffer, nth: number) => number,
  { table = 'spans', engineUrl, message = 'Refused.', textOf }: RefusingOptions = {},
): Promise<RefusingClickHouse> {
  const answers: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = decodeURIComponent((request.url ?? '').replaceAll('+', ' '));
    if (url.includes(`INSERT INTO ${table} `)) {
      const code = codeOf(body, answers.length);
      answers.push(code);
      if (code === silence) return;
      if (code !== 0) {
        response.writeHead(500, { 'X-ClickHouse-Exception-Code': String(code) });
        const text = `Code: ${code}. DB::Exception: ${message} (SOME_ERROR) (version 26.7.1)`;
        return void response.end(textOf?.(code) ?? text);
      }
    }
    if (engineUrl !== undefined) return pass(engineUrl, request, body, response);
    response.end(body.includes('now64') ? '{"now":"1"}\n' : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  const url = `http://127.0.0.1:${address.port}`;
  return {
    url: engineUrl === undefined ? url : atProxy(engineUrl, url),
    answers,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function pass(engineUrl: string, request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { 'transfer-encoding': _, ...headers } = request.headers;
  const target = new URL(request.url ?? '/', engineUrl);
  const options = { method: request.method, headers: { ...headers, host: target.host, 'content-length': body.length } };
  const onward = send(target, options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.once('error', () => response.destroy());
  onward.end(body);
}

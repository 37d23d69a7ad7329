import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { withCredentialsOf } from './proxy.ts';

export interface ClickHouseProxy {
  url: string;
  /** From now on, breaks the connection in place of every nth answer to an INSERT; the engine has done it. 0 breaks none. */
  loseReplyOfEvery(nth: number): void;
  lostReplies(): number;
  /** From now on, breaks the connection of every request whose address has this text, parameters included. */
  refuse(text: string): void;
  close(): Promise<void>;
}

/** Stands between the worker and ClickHouse and passes everything on, but may keep answers to itself. */
export async function startClickHouseProxy(targetUrl: string): Promise<ClickHouseProxy> {
  let nth = 0;
  let inserts = 0;
  let lost = 0;
  let refused: string | undefined;
  const server = createServer((request, response) => {
    if (refused !== undefined && request.url?.includes(refused)) return void request.socket.destroy();
    pass(targetUrl, request, response, () => {
      const loses = nth > 0 && isInsert(request) && ++inserts % nth === 0;
      if (loses) lost++;
      return loses;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    url: withCredentialsOf(targetUrl, `http://127.0.0.1:${address.port}`),
    loseReplyOfEvery(value) {
      nth = value;
    },
    lostReplies: () => lost,
    refuse(text) {
      refused = text;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function pass(targetUrl: string, request: IncomingMessage, response: ServerResponse, losesReply: () => boolean): void {
  const { method, headers, url } = request;
  const onward = send(new URL(url ?? '/', targetUrl), { method, headers }, async (answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    if (losesReply()) return void request.socket.destroy();
    response.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(chunks));
  });
  onward.on('error', () => request.socket.destroy());
  request.pipe(onward);
}

function isInsert(request: IncomingMessage): boolean {
  return new URL(request.url ?? '/', 'http://proxy').searchParams.get('query')?.startsWith('INSERT') ?? false;
}

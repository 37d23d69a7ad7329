import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { atProxy } from './proxy.ts';

export interface ClickHouseProxy {
  url: string;
  /**
   * From now on, closes the connection instead of every nth response to an INSERT, after the engine
   * has executed it. 0 closes none.
   */
  loseReplyOfEvery(nth: number): void;
  lostReplies(): number;
  /** From now on, closes the connection of every request whose URL, including parameters, contains this text. */
  refuse(text: string): void;
  /** From now on, never answers a request whose URL contains one of these texts. */
  holdBack(texts: readonly string[]): void;
  /**
   * From now on, leaves out the last 3 bytes of every answer that is longer than this, and ends it as if it were
   * whole. Infinity leaves out none.
   */
  cutAnswersOver(bytes: number): void;
  cutAnswers(): number;
  close(): Promise<void>;
}

const cutBytes = 3;

/** A proxy between the worker and ClickHouse. It can hold back responses. */
export async function startClickHouseProxy(targetUrl: string): Promise<ClickHouseProxy> {
  let nth = 0;
  let inserts = 0;
  let lost = 0;
  let refused: string | undefined;
  let held: readonly string[] = [];
  let [wholeBytesMax, cut] = [Number.POSITIVE_INFINITY, 0];
  const server = createServer((request, response) => {
    if (refused !== undefined && request.url?.includes(refused)) return void request.socket.destroy();
    if (held.some((text) => request.url?.includes(text))) return;
    pass(targetUrl, request, response, (body) => {
      const loses = nth > 0 && isInsert(request) && ++inserts % nth === 0;
      if (loses) lost++;
      if (loses || body.length <= wholeBytesMax) return loses ? undefined : body;
      cut++;
      return body.subarray(0, -cutBytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    url: atProxy(targetUrl, `http://127.0.0.1:${address.port}`),
    loseReplyOfEvery(value) {
      nth = value;
    },
    lostReplies: () => lost,
    refuse(text) {
      refused = text;
    },
    holdBack(texts) {
      held = texts;
    },
    cutAnswersOver(bytes) {
      wholeBytesMax = bytes;
    },
    cutAnswers: () => cut,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** `change` returns what the client gets of an answer. Undefined closes its connection. */
function pass(
  targetUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
  change: (body: Buffer) => Buffer | undefined,
): void {
  const { method, headers, url } = request;
  const onward = send(new URL(url ?? '/', targetUrl), { method, headers }, async (answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const body = change(Buffer.concat(chunks));
    if (body === undefined) return void request.socket.destroy();
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...kept } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, { ...kept, 'content-length': body.length }).end(body);
  });
  onward.on('error', () => request.socket.destroy());
  request.pipe(onward);
}

function isInsert(request: IncomingMessage): boolean {
  return new URL(request.url ?? '/', 'http://proxy').searchParams.get('query')?.startsWith('INSERT') ?? false;
}

import { once } from 'node:events';
import { createServer } from 'node:http';

export interface RefusingClickHouse {
  url: string;
  /** Answers to inserts into `spans`, in order: an error code, or 0 for one that is taken. */
  answers: number[];
  close(): Promise<void>;
}

/**
 * Takes inserts as ClickHouse does, and refuses those that `codeOf` gives an error code for. It has no rows: reads answer nothing,
 * the clock apart.
 */
export async function startRefusingClickHouse(
  codeOf: (body: Buffer, nth: number) => number,
  message = 'Refused.',
): Promise<RefusingClickHouse> {
  const answers: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = decodeURIComponent((request.url ?? '').replaceAll('+', ' '));
    if (!url.includes('INSERT INTO spans')) {
      return void response.end(body.includes('now64') ? '{"now":"1"}\n' : '');
    }
    const code = codeOf(body, answers.length);
    answers.push(code);
    if (code === 0) return void response.end();
    response.writeHead(500, { 'X-ClickHouse-Exception-Code': String(code) });
    response.end(`Code: ${code}. DB::Exception: ${message} (SOME_ERROR) (version 26.7.1)`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    answers,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

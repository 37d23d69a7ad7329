import type { Readable } from 'node:stream';
import { EngineError } from './errors.ts';
import { type InsertStatement, parseInsert } from './insert-statement.ts';

export type Statement =
  | { kind: 'plain'; sql: string }
  | { kind: 'insert'; insert: InsertStatement; rows: AsyncIterable<Uint8Array> };

/** `max_query_size` of a real server. The statement of an INSERT must end before it. */
const INSERT_HEAD_BYTES_MAX = 256 * 1024;
const SQL_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Builds the statement like a real server: the `query` of the URL, a line break, the body. The rows
 * of an INSERT stay in the stream.
 * @throws EngineError above 64 MiB of SQL, and the error of a broken stream
 */
export async function readStatement(urlQuery: string, body: Readable): Promise<Statement> {
  const chunks: Uint8Array[] = urlQuery === '' ? [] : [Buffer.from(`${urlQuery}\n`)];
  const rest = body[Symbol.asyncIterator]();
  const fromUrl = urlQuery === '' ? undefined : asInsert(chunks, rest);
  if (fromUrl !== undefined) return fromUrl;
  const ended = await readUpTo(INSERT_HEAD_BYTES_MAX, chunks, rest);
  const insert = asInsert(chunks, rest);
  if (insert !== undefined) return insert;
  if (!ended && !(await readUpTo(SQL_BYTES_MAX, chunks, rest))) {
    throw new EngineError(229, 'QUERY_IS_TOO_LARGE', `The query is longer than ${SQL_BYTES_MAX} bytes.`);
  }
  return { kind: 'plain', sql: Buffer.concat(chunks).toString('utf8').trim() };
}

function asInsert(chunks: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): Statement | undefined {
  const read = Buffer.concat(chunks);
  const insert = parseInsert(read.subarray(0, INSERT_HEAD_BYTES_MAX).toString('latin1'));
  if (insert === undefined) return undefined;
  return { kind: 'insert', insert, rows: continued(read.subarray(insert.dataStart), rest) };
}

/** Whether the stream ended before `bytesMax`. */
async function readUpTo(bytesMax: number, chunks: Uint8Array[], rest: AsyncIterator<Uint8Array>): Promise<boolean> {
  let bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  while (bytes < bytesMax) {
    const next = await rest.next();
    if (next.done === true) return true;
    chunks.push(next.value);
    bytes += next.value.length;
  }
  return false;
}

async function* continued(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

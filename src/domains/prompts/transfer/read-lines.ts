import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { MalformedError, TooLargeError, UnsupportedMediaTypeError } from '../../../lib/errors.ts';

export interface LineBounds {
  /** Of all lines, inflated. */
  bytesMax: number;
  lineBytesMax: number;
}

export interface NumberedLine {
  number: number;
  bytes: Buffer;
}

/**
 * The lines of a body as they arrive, gzip inflated, blank ones left out. Holds one line at a time. Throws TooLargeError,
 * MalformedError, UnsupportedMediaTypeError.
 */
export async function* readLines(
  req: IncomingMessage,
  { bytesMax, lineBytesMax }: LineBounds,
): AsyncGenerator<NumberedLine> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let bytes = 0;
  let number = 1;
  for await (const chunk of chunksOf(req)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new TooLargeError('body_too_large', `An import has at most ${bytesMax} bytes`);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      pending.push(chunk.subarray(start, end));
      const line = Buffer.concat(pending);
      if (line.some((byte) => byte > blank)) yield { number, bytes: line };
      number += 1;
      start = end + 1;
      pending = [];
      pendingBytes = 0;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > lineBytesMax) {
      throw new TooLargeError('body_too_large', `Line ${number} has over ${lineBytesMax} bytes, the limit of a line`);
    }
  }
  const line = Buffer.concat(pending);
  if (line.some((byte) => byte > blank)) yield { number, bytes: line };
}

const newline = 0x0a;
const blank = 0x20;

async function* chunksOf(req: IncomingMessage): AsyncGenerator<Buffer> {
  const encoding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new UnsupportedMediaTypeError(
      'unsupported_content_encoding',
      `Content-Encoding must be gzip or identity; given ${JSON.stringify(encoding.slice(0, 80))}`,
    );
  }
  const inflater = encoding === 'gzip' ? createGunzip() : undefined;
  try {
    // Leaving early must not end the connection, over which the answer is still to go.
    if (inflater === undefined) yield* req.iterator({ destroyOnReturn: false });
    else {
      req.once('close', () => req.complete || inflater.destroy(new Error('The connection closed')));
      yield* req.pipe(inflater);
    }
  } catch (cause) {
    const corrupt = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_');
    throw corrupt
      ? new MalformedError('corrupt_body', 'The body does not match its Content-Encoding', { cause })
      : new MalformedError('incomplete_body', 'The connection closed within the body', { cause });
  } finally {
    if (inflater !== undefined) req.unpipe(inflater);
    req.resume();
  }
}

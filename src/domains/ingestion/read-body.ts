import type { IncomingMessage } from 'node:http';
import { MalformedError, TooLargeError } from '../../lib/errors.ts';

/**
 * Reads a request body as it comes, counting bytes: exporters send chunks without a Content-Length. Throws TooLargeError
 * `body_too_large` as soon as the bound is passed, and MalformedError `incomplete_body` when the client went away.
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(request.headers['content-length']) > bytesMax) throw tooLarge(bytesMax);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof TooLargeError) throw error;
    throw new MalformedError('incomplete_body', 'The connection closed before the whole body was received.', {
      cause: error,
    });
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes);
}

function tooLarge(bytesMax: number): TooLargeError {
  return new TooLargeError(
    'body_too_large',
    `The body is larger than ${bytesMax} bytes, the most that one request may send.`,
  );
}

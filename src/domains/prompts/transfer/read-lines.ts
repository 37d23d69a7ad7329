import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { MalformedError, TooLargeError, UnsupportedMediaTypeError } from '../../../lib/errors.ts';

export interface LineBounds {
  /** Bytes of all lines, inflated. */
  bytesMax: number;
  lineBytesMax: number;
  /** Includes blank lines. */
  linesMax: number;
}

export interface NumberedLine {
  number: number;
  bytes: Buffer;
}

const encodings = ['identity', 'gzip'] as const;
export type LineEncoding = (typeof encodings)[number];

/**
 * Reads the content coding from the `Content-Encoding` header.
 * @throws UnsupportedMediaTypeError
 */
export function lineEncodingOf(header: string | undefined): LineEncoding {
  const given = (header ?? 'identity').trim().toLowerCase();
  const encoding = encodings.find((each) => each === given);
  if (encoding !== undefined) return encoding;
  throw new UnsupportedMediaTypeError(
    'unsupported_content_encoding',
    `Content-Encoding must be gzip or identity; given ${JSON.stringify(given.slice(0, 80))}`,
  );
}

/**
 * Yields the lines of a file and inflates gzip. Blank lines are skipped but counted. Holds one line
 * in memory at a time.
 * @throws TooLargeError, MalformedError
 */
export async function* readLines(
  file: FileHandle,
  encoding: LineEncoding,
  { bytesMax, lineBytesMax, linesMax }: LineBounds,
): AsyncGenerator<NumberedLine> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let bytes = 0;
  let number = 1;
  for await (const chunk of chunksOf(file, encoding)) {
    bytes += chunk.length;
    if (bytes > bytesMax)
      throw new TooLargeError('body_too_large', `An import may have at most ${bytesMax} bytes after decompression`);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      if (end > start || pendingBytes > 0) {
        const line = Buffer.concat([...pending, chunk.subarray(start, end)]);
        if (!isBlank(line)) yield { number, bytes: line };
        pending = [];
        pendingBytes = 0;
      }
      start = end + 1;
      if (++number > linesMax) {
        throw new TooLargeError(
          'body_too_large',
          `An import may have at most ${linesMax} lines, including blank lines`,
        );
      }
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > lineBytesMax) {
      throw new TooLargeError(
        'body_too_large',
        `Line ${number} has more than ${lineBytesMax} bytes, which is the limit for a line`,
      );
    }
  }
  const line = Buffer.concat(pending);
  if (!isBlank(line)) yield { number, bytes: line };
}

const newline = 0x0a;
const blank = 0x20;

function isBlank(line: Buffer): boolean {
  for (let at = 0; at < line.length; at++) if ((line[at] ?? 0) > blank) return false;
  return true;
}

async function* chunksOf(file: FileHandle, encoding: LineEncoding): AsyncGenerator<Buffer> {
  const sent = file.createReadStream({ start: 0, autoClose: false });
  try {
    // The inflater throws the errors of both streams, because only it is read.
    yield* encoding === 'gzip' ? pipeline(sent, createGunzip(), () => undefined) : sent;
  } catch (cause) {
    const corrupt = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_');
    throw corrupt
      ? new MalformedError('corrupt_body', 'The body does not match its Content-Encoding', { cause })
      : cause;
  }
}

import type { IncomingMessage } from 'node:http';
import { createGunzip, createInflate } from 'node:zlib';
import { MalformedError, TooLargeError, UnsupportedMediaTypeError } from '../lib/errors.ts';
import { checkJson } from './json-walk.ts';

/**
 * Reads a JSON body; `undefined` when there is none. The bound holds for the bytes sent and for the inflated bytes,
 * both counted while reading, so that a bomb costs no more than `bytesMax` of memory.
 * @throws UnsupportedMediaTypeError, TooLargeError, MalformedError (`malformed_json`, `json_too_deep`, ...), InvalidError
 */
export async function readJsonBody(req: IncomingMessage, bytesMax: number): Promise<unknown> {
  if (!hasBody(req)) return undefined;
  checkJsonContentType(req.headers['content-type']);
  const bytes = await readBytes(req, bytesMax);
  if (bytes.length === 0) return undefined;
  return parseJson(bytes);
}

/**
 * Reads a body as bytes, inflated when Content-Encoding is gzip or deflate.
 * @throws TooLargeError over `bytesMax`, UnsupportedMediaTypeError for other encodings, MalformedError when it breaks off
 */
export async function readBytes(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > bytesMax) throw tooLarge(bytesMax, `Content-Length is ${announced}`);
  const inflater = inflaterFor(req.headers['content-encoding']);
  const sent = collect(req, bytesMax);
  if (!inflater) return sent;
  const inflated = collect(req.pipe(inflater), bytesMax);
  try {
    await Promise.all([sent, inflated]);
    return await inflated;
  } finally {
    req.unpipe(inflater);
    inflater.destroy();
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws MalformedError `malformed_json`, `json_too_deep`, InvalidError for text that cannot be stored */
export function parseJson(bytes: Buffer): unknown {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message.slice(0, 200) : 'it is not valid UTF-8';
    throw new MalformedError('malformed_json', `The body is not valid JSON: ${reason}`, { cause });
  }
  checkJson(value, text);
  return value;
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** @throws UnsupportedMediaTypeError for anything but JSON in UTF-8 */
export function checkJsonContentType(header: string | undefined): void {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (type.trim() === 'application/json' && isUtf8) return;
  throw new UnsupportedMediaTypeError(
    'unsupported_media_type',
    `Content-Type must be application/json in UTF-8; given ${header === undefined ? 'none' : JSON.stringify(header.slice(0, 80))}`,
  );
}

const inflaters: Readonly<Record<string, (() => NodeJS.ReadWriteStream & { destroy(): void }) | undefined>> = {
  identity: undefined,
  gzip: createGunzip,
  deflate: createInflate,
};

function inflaterFor(header: string | undefined) {
  const encoding = (header ?? 'identity').trim().toLowerCase();
  if (Object.hasOwn(inflaters, encoding)) return inflaters[encoding]?.();
  throw new UnsupportedMediaTypeError(
    'unsupported_content_encoding',
    `Content-Encoding must be gzip, deflate or identity; given ${JSON.stringify(encoding.slice(0, 80))}`,
  );
}

function collect(stream: NodeJS.ReadableStream, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= bytesMax) chunks.push(chunk);
      else {
        stream.off('data', take);
        reject(tooLarge(bytesMax, `more than ${bytesMax} arrived`));
      }
    };
    const cutOff = () => reject(new MalformedError('incomplete_body', 'The connection closed within the body'));
    stream.on('data', take);
    stream.once('end', () => {
      // It closes after its end too, and an error costs a stack.
      stream.off('close', cutOff);
      resolve(Buffer.concat(chunks, length));
    });
    stream.once('error', (cause) => reject(brokenOff(cause)));
    stream.once('close', cutOff);
  });
}

function brokenOff(cause: Error): MalformedError {
  const zlib = 'code' in cause && typeof cause.code === 'string' && cause.code.startsWith('Z_');
  return zlib
    ? new MalformedError('corrupt_body', `The body does not match its Content-Encoding: ${cause.message}`, {
        cause,
      })
    : new MalformedError('incomplete_body', 'The connection closed within the body', { cause });
}

function tooLarge(bytesMax: number, found: string): TooLargeError {
  return new TooLargeError(
    'body_too_large',
    `The body is limited to ${bytesMax} bytes, as sent and inflated; ${found}`,
  );
}

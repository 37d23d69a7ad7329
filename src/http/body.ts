import type { IncomingMessage } from 'node:http';
import { createGunzip, createInflate } from 'node:zlib';
import { MalformedError, TooLargeError, UnsupportedMediaTypeError } from '../lib/errors.ts';
import { mapInSlices, sharedHalf } from '../lib/pace.ts';
import type { BodyHold } from './body-intake.ts';
import { formatPath } from './faults.ts';
import { findPieces, type Span } from './json-pieces.ts';
import { checkJson } from './json-walk.ts';

/** A larger body is parsed in pieces, between which others have their turn. */
const atOnceBytesMax = 256 * 1024;

/**
 * Reads a JSON body; `undefined` when there is none. The bound holds for the bytes sent and for the inflated bytes,
 * both counted while reading, so that a bomb costs no more than `bytesMax` of memory.
 * @throws UnsupportedMediaTypeError, TooLargeError, MalformedError (`malformed_json`, `json_too_deep`, ...), InvalidError, and what
 * `hold` and `inTurn` throw when there is no room
 */
export async function readJsonBody(
  req: IncomingMessage,
  bytesMax: number,
  { hold, inTurn }: { hold: BodyHold; inTurn: (parse: () => Promise<unknown>) => Promise<unknown> },
): Promise<unknown> {
  if (!hasBody(req)) return undefined;
  checkJsonContentType(req.headers['content-type']);
  const bytes = await readBytes(req, bytesMax, hold);
  if (bytes.length === 0) return undefined;
  return bytes.length > atOnceBytesMax ? inTurn(() => parseInPieces(bytes)) : parseJson(bytes);
}

/**
 * Reads a body as bytes, inflated when Content-Encoding is gzip or deflate.
 * @throws TooLargeError over `bytesMax`, UnsupportedMediaTypeError for other encodings, MalformedError when it breaks off
 */
async function readBytes(req: IncomingMessage, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  const inflater = inflaterFor(req.headers['content-encoding']);
  if (!inflater) return receiveBody(req, bytesMax, hold);
  const inflated = collect(req.pipe(inflater), bytesMax, hold);
  try {
    const [bytes] = await Promise.all([inflated, receiveBody(req, bytesMax, hold)]);
    return bytes;
  } finally {
    req.unpipe(inflater);
    inflater.destroy();
  }
}

/**
 * Reads a body as it was sent.
 * @throws TooLargeError over `bytesMax`, MalformedError `incomplete_body` when it breaks off, and what `hold` throws when there is no room
 */
export async function receiveBody(req: IncomingMessage, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > bytesMax) throw tooLarge(bytesMax, `Content-Length is ${announced}`);
  try {
    return await collect(req, bytesMax, hold);
  } finally {
    hold.arrived();
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const utf8Piece = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws MalformedError `malformed_json`, `json_too_deep`, InvalidError for text that cannot be stored */
export function parseJson(bytes: Buffer): unknown {
  return parsePiece(bytes, utf8, []);
}

/**
 * The same for a body that would hold up the event loop: lists that are members of the root are parsed element by element. Refuses
 * what no pause would help against.
 * @throws as {@link parseJson}, and TooLargeError for too many values
 */
export async function parseInPieces(bytes: Buffer): Promise<unknown> {
  const { frame, arrays } = findPieces(bytes);
  const root = parsePiece(frame, utf8, []);
  if (typeof root !== 'object' || root === null || Array.isArray(root)) return root;
  for (const [key, value] of Object.entries(root)) {
    if (!Array.isArray(value)) continue;
    const elements = arrays[Number(value[0])] ?? [];
    const parse = ({ start, end }: Span, index: number) =>
      parsePiece(bytes.subarray(start, end), utf8Piece, [key, index]);
    const parsed = await mapInSlices(elements, parse, sharedHalf);
    // An assignment would change the prototype of a body with a member `__proto__`.
    Object.defineProperty(root, key, { value: parsed, enumerable: true, writable: true, configurable: true });
  }
  return root;
}

function parsePiece(bytes: Buffer, decoder: Pick<typeof utf8, 'decode'>, at: readonly (string | number)[]): unknown {
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message.slice(0, 200) : 'it is not valid UTF-8';
    const where = at.length === 0 ? '' : `${formatPath(at)}: `;
    throw new MalformedError('malformed_json', `The body is not valid JSON: ${where}${reason}`, { cause });
  }
  checkJson(value, text, at);
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

/** Of a body, after which it waits for its turn: copying them takes one to two milliseconds. */
const slackBytes = 1024 * 1024;

function collect(stream: NodeJS.ReadableStream, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let restAt = slackBytes;
    const refuse = (error: unknown) => {
      stream.off('data', take);
      chunks.length = 0;
      reject(error);
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > bytesMax) return refuse(tooLarge(bytesMax, `more than ${bytesMax} arrived`));
      try {
        hold.take(chunk.length);
      } catch (error) {
        return refuse(error);
      }
      chunks.push(chunk);
      if (length < restAt) return;
      restAt += slackBytes;
      stream.pause();
      void sharedHalf().then(() => stream.resume());
    };
    const cutOff = () => refuse(new MalformedError('incomplete_body', 'The connection closed within the body'));
    // A client that has left already is not announced again.
    if (isDestroyed(stream)) return cutOff();
    stream.on('data', take);
    stream.once('end', () => {
      // It closes after its end too, and an error costs a stack.
      stream.off('close', cutOff);
      resolve(Buffer.concat(chunks, length));
    });
    stream.once('error', (cause) => refuse(brokenOff(cause)));
    stream.once('close', cutOff);
  });
}

function isDestroyed(stream: NodeJS.ReadableStream): boolean {
  return 'destroyed' in stream && stream.destroyed === true;
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

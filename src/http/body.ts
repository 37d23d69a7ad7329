import type { IncomingMessage } from 'node:http';
import { createGunzip, createInflate } from 'node:zlib';
import { MalformedError, TooLargeError, UnsupportedMediaTypeError } from '../lib/errors.ts';
import { FairLane } from '../lib/fair-lane.ts';
import { costsMoreThan } from '../lib/json-cost.ts';
import { inSharedTurn, Pace, runInSlices, sharedThird } from '../lib/pace.ts';
import type { BodyHold } from './body-intake.ts';
import { parseJson, parseSteps } from './parse-json.ts';
import { readInTurns } from './read-in-turns.ts';
import { ReceivedBytes } from './received-bytes.ts';
import { readUnwanted } from './unwanted-bodies.ts';

/** A larger body is parsed in steps, so that other requests run in between. */
const atOnceBytesMax = 256 * 1024;
/**
 * The values of a smaller body are not counted, and it is parsed in a turn of the event loop that has time, because that
 * takes less than a millisecond, and never more than a few.
 */
const uncountedBytesMax = 24 * 1024;
/** A body whose values cost more, which is one to four milliseconds, is parsed in turn with other large work. */
const atOnceCostMax = 20_000;

/**
 * Other bodies that are parsed whole: at most four in a turn of the event loop, which take some ten milliseconds, and
 * one of each sharer. Otherwise a hundred connections could have all of theirs parsed in one turn. `BodyIntake` bounds
 * how many wait.
 */
const turns = new FairLane({
  ...{ name: 'request bodies', capacity: 4, perKey: 1 },
  ...{ waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY },
});

/**
 * Reads a JSON body. Returns `undefined` when there is none. `bytesMax` limits the bytes sent and
 * the inflated bytes. Both are counted while reading, so a decompression bomb uses at most
 * `bytesMax` of memory. With `asText`, JSON may also come as `text/plain`, the type that a browser
 * sends to another origin without asking first, as `navigator.sendBeacon` does. `inTurn` runs the
 * parsing of bodies that are large or have very many values.
 * @throws UnsupportedMediaTypeError, TooLargeError, InvalidError, MalformedError (`malformed_json`,
 * `json_too_deep`, ...), and what `hold` and `inTurn` throw when there is no room
 */
export async function readJsonBody(
  req: IncomingMessage,
  bytesMax: number,
  {
    hold,
    inTurn,
    asText = false,
  }: { hold: BodyHold; inTurn: (parse: () => Promise<unknown>) => Promise<unknown>; asText?: boolean },
): Promise<unknown> {
  if (!hasBody(req)) return undefined;
  checkJsonContentType(req.headers['content-type'], asText);
  const bytes = await readBytes(req, bytesMax, hold);
  if (bytes.length === 0) return undefined;
  if (bytes.length <= uncountedBytesMax) return inSharedTurn(hold.sharer, () => parseJson(bytes));
  // One step, because steps would refuse values that a body of this size may have. It takes less than 50 ms.
  if (bytes.length <= atOnceBytesMax) {
    setImmediate(await turns.enter(hold.sharer));
    return costsMoreThan(bytes, atOnceCostMax) ? inTurn(async () => parseJson(bytes)) : parseJson(bytes);
  }
  return inTurn(() => runInSlices(parseSteps(bytes), new Pace(sharedThird(hold.sharer))));
}

/**
 * Reads a body as bytes, inflated when Content-Encoding is gzip or deflate.
 * @throws TooLargeError over `bytesMax`
 * @throws UnsupportedMediaTypeError for other encodings
 * @throws MalformedError when the connection closes within the body
 */
async function readBytes(req: IncomingMessage, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  checkAnnounced(req, bytesMax);
  const inflater = inflaterFor(req.headers['content-encoding']);
  if (!inflater) return receiveBody(req, bytesMax, hold);
  const inflated = collect(req.pipe(inflater), bytesMax, hold);
  try {
    const [bytes] = await Promise.all([inflated, receiveBody(req, bytesMax, hold)]);
    return bytes;
  } finally {
    req.unpipe(inflater);
    // A request stays paused after `unpipe`.
    req.resume();
    inflater.destroy();
  }
}

/**
 * Reads a body as it was sent.
 * @throws UnsupportedMediaTypeError for a transfer coding other than chunked
 * @throws TooLargeError over `bytesMax`
 * @throws MalformedError `incomplete_body` when the connection closes within the body
 * @throws what `hold` throws when there is no room
 */
export async function receiveBody(req: IncomingMessage, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  checkAnnounced(req, bytesMax);
  try {
    return await collect(req, bytesMax, hold);
  } finally {
    hold.arrived();
  }
}

/**
 * Checks what the headers say of a body. Call it before anything reads the body: a client that waits for
 * `100 Continue` then sends none.
 * @throws as {@link receiveBody}
 */
function checkAnnounced({ headers }: IncomingMessage, bytesMax: number): void {
  checkTransferEncoding(headers['transfer-encoding']);
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > bytesMax) throw tooLarge(bytesMax, `Content-Length is ${announced}`);
}

/**
 * @throws UnsupportedMediaTypeError for a transfer coding other than chunked, which would have to
 * be decoded before the body can be read
 */
function checkTransferEncoding(header: string | undefined): void {
  if (header === undefined || header.trim().toLowerCase() === 'chunked') return;
  throw new UnsupportedMediaTypeError(
    'unsupported_content_encoding',
    `Transfer-Encoding must be chunked only; given ${JSON.stringify(header.slice(0, 80))}. Use Content-Encoding for compression.`,
  );
}

/** Tells whether the headers announce a body. */
export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/**
 * Checks that the body is JSON in UTF-8.
 * @throws UnsupportedMediaTypeError for any other media type or charset
 */
export function checkJsonContentType(header: string | undefined, asText = false): void {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';', 64);
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  const isJson = type.trim() === 'application/json' || (asText && type.trim() === 'text/plain');
  if (isJson && isUtf8) return;
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

/**
 * Reads a stream whole. The rest of a refused stream is read and discarded, so that its connection can take another
 * request.
 */
function collect(stream: NodeJS.ReadableStream, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const received = new ReceivedBytes();
    const endTurns = readInTurns(stream, sharedThird(hold.sharer));
    const refuse = (error: unknown) => {
      endTurns();
      stream.off('data', take);
      received.clear();
      reject(error);
    };
    const refuseRest = (error: unknown) => {
      readUnwanted(stream, hold.sharer);
      refuse(error);
    };
    const take = (chunk: Buffer) => {
      if (received.length + chunk.length > bytesMax)
        return refuseRest(tooLarge(bytesMax, `the request has more than ${bytesMax}`));
      try {
        hold.take(chunk.length);
      } catch (error) {
        return refuseRest(error);
      }
      received.add(chunk);
    };
    const cutOff = () =>
      refuse(new MalformedError('incomplete_body', 'The connection closed before the body was complete'));
    // A stream that is already destroyed emits no further `close` event.
    if (isDestroyed(stream)) return cutOff();
    stream.on('data', take);
    stream.once('end', () => {
      // The stream also emits `close` after `end`, and creating an error there would capture a
      // stack trace.
      stream.off('close', cutOff);
      resolve(received.join());
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
    : new MalformedError('incomplete_body', 'The connection closed before the body was complete', { cause });
}

function tooLarge(bytesMax: number, found: string): TooLargeError {
  return new TooLargeError(
    'body_too_large',
    `The body may have at most ${bytesMax} bytes, both as sent and after decompression; ${found}`,
  );
}

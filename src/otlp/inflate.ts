import * as zlib from 'node:zlib';
import { MalformedError, TooLargeError } from '../lib/errors.ts';
import type { ContentCoding } from './media-type.ts';

interface Inflated {
  buffer: Buffer;
  engine: { bytesWritten: number };
}

/**
 * The functions are looked up by name: the types of Node 20 know neither zstd nor the result of the
 * `info` option.
 */
type Inflate = (
  body: Buffer,
  options: { info: true; chunkSize: number; maxOutputLength: number },
  done: (error: Error | null, result: Inflated) => void,
) => void;

const functionNames = { gzip: 'gunzip', deflate: 'inflate', zstd: 'zstdDecompress' } as const;

/**
 * OTLP compresses about threefold to sixfold. With this output size, one round trip to the thread
 * pool is enough.
 */
const roomPerByte = 8;
const smallBytesMax = 256 * 1024;
/** Compressed bytes that inflate to nothing take as long as others: this many take about 12 ms at worst. */
const smallCodedBytesMax = 128 * 1024;
/** Header and trailer. */
const gzipBytesMin = 18;
const chunkBytes = { min: 16 * 1024, max: 1024 * 1024 };

/**
 * Inflates a body, larger ones on the thread pool. Stops at `inflatedBytesMax`, whatever size the
 * body claims. Gzip with several members is valid (RFC 1952, 2.2).
 * @throws TooLargeError (`body_too_large`) at the limit
 * @throws MalformedError (`corrupt_body`) for corrupt or truncated data and for bytes after the end
 */
export async function inflateBounded(coding: ContentCoding, body: Buffer, inflatedBytesMax: number): Promise<Buffer> {
  if (coding === 'identity') {
    if (body.length > inflatedBytesMax) throw tooLarge(inflatedBytesMax);
    return body;
  }
  const name = functionNames[coding];
  const atOnce = coding === 'gzip' ? gunzipSmall(body, inflatedBytesMax) : undefined;
  if (atOnce !== undefined) return atOnce;
  try {
    return await inflate(name, body, inflatedBytesMax);
  } catch (error) {
    if (coding === 'deflate') return await inflateRaw(body, inflatedBytesMax, error);
    throw error;
  }
}

/**
 * Inflates a small body synchronously, because the thread pool would cost as much CPU as the work
 * itself (0.4 ms for 160 KB). The size at the end of gzip data (RFC 1952, 2.3.1) is only a hint.
 * Returns undefined unless the body is small and valid.
 */
function gunzipSmall(body: Buffer, inflatedBytesMax: number): Buffer | undefined {
  if (body.length < gzipBytesMin || body.length > smallCodedBytesMax) return undefined;
  const stated = body.readUInt32LE(body.length - 4);
  if (stated > smallBytesMax || stated >= inflatedBytesMax) return undefined;
  const chunkSize = Math.max(stated + 1, zlib.constants.Z_MIN_CHUNK);
  try {
    const result: unknown = zlib.gunzipSync(body, { info: true, chunkSize, maxOutputLength: stated + 1 });
    return isInflated(result) && result.engine.bytesWritten === body.length ? result.buffer : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Inflates raw deflate data. `deflate` means zlib (RFC 9110, 8.4.1.2), but some senders use the raw
 * format. Only trying shows which one was meant.
 */
async function inflateRaw(body: Buffer, inflatedBytesMax: number, zlibError: unknown): Promise<Buffer> {
  if (zlibError instanceof TooLargeError) throw zlibError;
  try {
    return await inflate('inflateRaw', body, inflatedBytesMax);
  } catch (error) {
    throw error instanceof TooLargeError ? error : zlibError;
  }
}

function inflate(name: string, body: Buffer, inflatedBytesMax: number): Promise<Buffer> {
  const room = Math.min(chunkBytes.max, Math.max(chunkBytes.min, body.length * roomPerByte));
  const method: unknown = Reflect.get(zlib, name);
  return new Promise((resolve, reject) => {
    if (!isInflate(method)) throw new TypeError(`This Node has no zlib.${name}`);
    method(body, { info: true, chunkSize: room, maxOutputLength: inflatedBytesMax }, (error, result) => {
      if (error) reject(inflateError(error, name, inflatedBytesMax));
      else if (result.engine.bytesWritten < body.length) reject(corrupt(name, 'bytes after its end'));
      else resolve(result.buffer);
    });
  });
}

function inflateError(error: Error, name: string, inflatedBytesMax: number): Error {
  const code = 'code' in error ? error.code : undefined;
  return code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(inflatedBytesMax) : corrupt(name, error.message);
}

function corrupt(name: string, why: string): MalformedError {
  return new MalformedError('corrupt_body', `The compressed body is corrupt: ${name}: ${why}`);
}

function tooLarge(inflatedBytesMax: number): TooLargeError {
  return new TooLargeError('body_too_large', `The body has more than ${inflatedBytesMax} bytes after decompression`);
}

function isInflate(value: unknown): value is Inflate {
  return typeof value === 'function';
}

/** The types do not know what `info` does to the result. */
function isInflated(value: unknown): value is Inflated {
  return typeof value === 'object' && value !== null && 'buffer' in value && 'engine' in value;
}

import { Buffer, isUtf8 } from 'node:buffer';
import { warning } from './warnings.ts';

const internedBytesMax = 40;
const slots = 8192;

/**
 * Cache of short ASCII strings by their bytes. Attribute keys, model names and similar strings
 * recur in every span, and a cache hit costs a third of creating the string. Direct-mapped: a
 * collision replaces the entry, so the size is fixed.
 */
const interned: string[] = new Array<string>(slots).fill('');

const hexCodes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0')).join(''));

/** The source of a text. `warnings` notes when invalid UTF-8 was replaced by U+FFFD. */
export interface TextSource {
  readonly bytes: Buffer;
  /** A view of the same bytes. */
  readonly view: DataView;
  warnings: number;
}

/** Returns the string in `[start, end)` of the source. */
export function readText(source: TextSource, start: number, end: number): string {
  if (end === start) return '';
  if (end - start <= internedBytesMax) {
    const known = internAscii(source, start, end);
    if (known !== undefined) return known;
  }
  const text = source.bytes.toString('utf8', start, end);
  if (text.includes('\ufffd') && !isUtf8(source.bytes.subarray(start, end))) source.warnings |= warning.invalidUtf8;
  return text;
}

/** Returns where to cut UTF-8 so that at most `bytesMax` bytes remain and no character is split. */
export function cutUtf8(bytes: Uint8Array, start: number, end: number, bytesMax: number): number {
  if (end - start <= bytesMax) return end;
  const limit = start + bytesMax;
  for (let cut = limit; cut > limit - 4 && cut >= start; cut--)
    if (((bytes[cut] as number) & 0xc0) !== 0x80) return cut;
  return limit;
}

/** Replaces lone surrogates by U+FFFD, because UTF-8 cannot encode them. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Returns sixteen hex characters for the eight bytes at `start`. */
export function hex8(bytes: Buffer, start: number): string {
  const [a, b, c, d] = [
    hexPair(bytes, start),
    hexPair(bytes, start + 2),
    hexPair(bytes, start + 4),
    hexPair(bytes, start + 6),
  ];
  return String.fromCharCode(
    a >>> 24,
    (a >>> 16) & 0xff,
    (a >>> 8) & 0xff,
    a & 0xff,
    b >>> 24,
    (b >>> 16) & 0xff,
    (b >>> 8) & 0xff,
    b & 0xff,
    c >>> 24,
    (c >>> 16) & 0xff,
    (c >>> 8) & 0xff,
    c & 0xff,
    d >>> 24,
    (d >>> 16) & 0xff,
    (d >>> 8) & 0xff,
    d & 0xff,
  );
}

function hexPair(bytes: Buffer, start: number): number {
  const first = (bytes[start] as number) * 2;
  const second = (bytes[start + 1] as number) * 2;
  return (
    ((hexCodes[first] as number) << 24) |
    ((hexCodes[first + 1] as number) << 16) |
    ((hexCodes[second] as number) << 8) |
    (hexCodes[second + 1] as number)
  );
}

/**
 * Returns the cached string of these bytes, or undefined when they are not all ASCII. Hashes four
 * bytes at a time.
 */
function internAscii({ bytes, view }: TextSource, start: number, end: number): string | undefined {
  let hash = end - start;
  let union = 0;
  let index = start;
  for (; index + 4 <= end; index += 4) {
    const word = view.getInt32(index, true);
    union |= word;
    hash = Math.imul(hash ^ word, 0x9e37_79b1);
    hash ^= hash >>> 15;
  }
  for (; index < end; index++) {
    const byte = bytes[index] as number;
    union |= byte;
    hash = Math.imul(hash ^ byte, 0x9e37_79b1);
  }
  if ((union & 0x8080_8080) !== 0) return undefined;
  const slot = (hash ^ (hash >>> 15)) & (slots - 1);
  const candidate = interned[slot] as string;
  if (isAscii(candidate, bytes, start, end)) return candidate;
  const text = bytes.toString('latin1', start, end);
  interned[slot] = text;
  return text;
}

function isAscii(candidate: string, bytes: Buffer, start: number, end: number): boolean {
  if (candidate.length !== end - start) return false;
  for (let index = 0; index < candidate.length; index++)
    if (candidate.charCodeAt(index) !== bytes[start + index]) return false;
  return true;
}

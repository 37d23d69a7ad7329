import { MalformedError } from '../lib/errors.ts';
import { longKeyMin } from '../lib/text-key.ts';
import type { OtlpLimits } from './limits.ts';

/** Below this size JSON.parse needs little time and memory for any values, but not for any names. */
const countedBytesMin = 1024 * 1024;
const nestingMax = 10_000;
/** A message in OTLP/JSON has one brace and usually one comma. */
const tokensPerMessage = 2;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Returns how many values and objects a JSON body may have, as {@link countTokens} counts them. */
export function tokensMax({ messagesMax }: Pick<OtlpLimits, 'messagesMax'>, bodyBytes: number): number {
  return bodyBytes >= countedBytesMin ? tokensPerMessage * messagesMax : Number.POSITIVE_INFINITY;
}

/** Returns the objects, lists and commas of a part of a JSON body. */
export function countTokens(bytes: Uint8Array): number {
  let tokens = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    if (byte === quote) index = stringEnd(bytes, index + 1);
    else if (byte === openBrace || byte === openBracket || byte === comma) tokens++;
  }
  return tokens;
}

/**
 * Rejects text that is too expensive for JSON.parse: millions of nested arrays take seconds, and a
 * two-byte `{}` becomes an object of fifty bytes, and long names of one length are compared with each other. It counts in one pass without recursion, and does
 * not check whether the text is JSON.
 * @throws MalformedError (`malformed_otlp`)
 */
export function guardJson(bytes: Uint8Array, limits: OtlpLimits): void {
  if (bytes.length < longKeyMin) return;
  const isCounted = bytes.length >= countedBytesMin;
  const most = tokensMax(limits, bytes.length);
  let nesting = 0;
  let longNames = 0;
  let tokens = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    if (byte === quote) {
      const start = index;
      index = stringEnd(bytes, index + 1);
      if (index - start > longKeyMin && isKey(bytes, index) && ++longNames > limits.longKeysMax)
        refuse(`more than ${limits.longKeysMax} names of ${longKeyMin} bytes and more`, start);
    } else if (byte === openBrace || byte === openBracket) {
      tokens++;
      if (++nesting > nestingMax && isCounted) refuse(`nested more than ${nestingMax} levels deep`, index);
    } else if (byte === closeBrace || byte === closeBracket) nesting--;
    else if (byte === comma) tokens++;
    if (tokens > most) refuse(`more than ${most} values`, index);
  }
}

function stringEnd(bytes: Uint8Array, start: number): number {
  let index = start;
  while (index < bytes.length && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1;
  return index;
}

/** Returns whether the string that ends at `end` is a name. */
function isKey(bytes: Uint8Array, end: number): boolean {
  let index = end + 1;
  while (index < bytes.length && (bytes[index] as number) <= 0x20) index++;
  return bytes[index] === colon;
}

function refuse(what: string, offset: number): never {
  throw new MalformedError('malformed_otlp', `Not an OTLP JSON body: ${what} at byte ${offset}`);
}

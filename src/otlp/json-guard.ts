import { MalformedError } from '../lib/errors.ts';
import type { OtlpLimits } from './limits.ts';

/** Below this size JSON.parse needs little time and memory for any text. */
const guardedBytesMin = 1024 * 1024;
const nestingMax = 10_000;
/** A message in OTLP/JSON has one brace and usually one comma. */
const tokensPerMessage = 2;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Rejects text that is too expensive for JSON.parse: millions of nested arrays take seconds, and a
 * two-byte `{}` becomes an object of fifty bytes. It counts in one pass without recursion, and does
 * not check whether the text is JSON.
 * @throws MalformedError (`malformed_otlp`)
 */
export function guardJson(bytes: Uint8Array, limits: OtlpLimits): void {
  if (bytes.length < guardedBytesMin) return;
  const tokensMax = tokensPerMessage * limits.messagesMax;
  let nesting = 0;
  let tokens = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    if (byte === quote) index = stringEnd(bytes, index + 1);
    else if (byte === openBrace || byte === openBracket) {
      tokens++;
      if (++nesting > nestingMax) refuse(`nested more than ${nestingMax} levels deep`, index);
    } else if (byte === closeBrace || byte === closeBracket) nesting--;
    else if (byte === comma) tokens++;
    if (tokens > tokensMax) refuse(`more than ${tokensMax} values`, index);
  }
}

function stringEnd(bytes: Uint8Array, start: number): number {
  let index = start;
  while (index < bytes.length && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1;
  return index;
}

function refuse(what: string, offset: number): never {
  throw new MalformedError('malformed_otlp', `Not an OTLP JSON body: ${what} at byte ${offset}`);
}

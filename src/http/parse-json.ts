import { TextDecoder } from 'node:util';
import { MalformedError } from '../lib/errors.ts';
import { formatPath } from './faults.ts';
import { findPieces } from './json-pieces.ts';
import { checkJson } from './json-walk.ts';

type Decoder = Pick<TextDecoder, 'decode'>;
type JsonPath = readonly (string | number)[];

const utf8 = new TextDecoder('utf-8', { fatal: true });
const pieceOptions = { fatal: true, ignoreBOM: true };
const utf8Piece = new TextDecoder('utf-8', pieceOptions);

/** Bytes that are decoded at a time, which takes about two milliseconds. */
const decodedBytes = 256 * 1024;

/**
 * Parses and checks a JSON body.
 * @throws MalformedError `malformed_json` or `json_too_deep`
 * @throws InvalidError for text that cannot be stored
 */
export function parseJson(bytes: Buffer): unknown {
  return parsePiece(bytes, utf8, []);
}

/**
 * Parses a body in steps when it would otherwise block the event loop. Lists that are members of
 * the root are parsed element by element. Bodies whose single pieces would still take too long are
 * refused.
 * @throws as {@link parseJson}, and TooLargeError for too many values
 */
export function* parseSteps(bytes: Buffer): Generator<void, unknown> {
  const { frame, arrays } = yield* findPieces(bytes);
  const root = yield* pieceSteps(frame, utf8, []);
  if (typeof root !== 'object' || root === null || Array.isArray(root)) return root;
  for (const [key, value] of Object.entries(root)) {
    if (!Array.isArray(value)) continue;
    const elements: unknown[] = [];
    for (const [index, { start, end }] of (arrays[Number(value[0])] ?? []).entries()) {
      elements.push(yield* pieceSteps(bytes.subarray(start, end), utf8Piece, [key, index]));
    }
    // An assignment to a member `__proto__` would change the prototype of the body.
    Object.defineProperty(root, key, { value: elements, enumerable: true, writable: true, configurable: true });
  }
  return root;
}

function* pieceSteps(bytes: Buffer, decoder: Decoder, at: JsonPath): Generator<void, unknown> {
  yield;
  if (bytes.length <= decodedBytes) return parsePiece(bytes, decoder, at);
  const text = yield* decodeSteps(
    bytes,
    new TextDecoder('utf-8', decoder === utf8 ? { fatal: true } : pieceOptions),
    at,
  );
  const value = parseText(text, at);
  yield;
  checkJson(value, text, at);
  return value;
}

function* decodeSteps(bytes: Buffer, decoder: TextDecoder, at: JsonPath): Generator<void, string> {
  let text = '';
  for (let start = 0; start < bytes.length; start += decodedBytes) {
    const slice = bytes.subarray(start, start + decodedBytes);
    text += orMalformed(at, () => decoder.decode(slice, { stream: start + decodedBytes < bytes.length }));
    yield;
  }
  return text;
}

function parsePiece(bytes: Buffer, decoder: Decoder, at: JsonPath): unknown {
  const text = orMalformed(at, () => decoder.decode(bytes));
  const value = parseText(text, at);
  checkJson(value, text, at);
  return value;
}

function parseText(text: string, at: JsonPath): unknown {
  return orMalformed(at, () => JSON.parse(text));
}

function orMalformed<T>(at: JsonPath, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message.slice(0, 200) : 'it is not valid UTF-8';
    const where = at.length === 0 ? '' : `${formatPath(at)}: `;
    throw new MalformedError('malformed_json', `The body is not valid JSON: ${where}${reason}`, { cause });
  }
}

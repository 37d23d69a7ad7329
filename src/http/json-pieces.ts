import { TooLargeError } from '../lib/errors.ts';
import { jsonDepthMax, tooDeep } from './json-walk.ts';

/** Values that are parsed, checked and validated without a pause; this many objects take some 20 ms. */
const pieceValuesMax = 50_000;
/** Values of one body. */
const bodyValuesMax = 500_000;
const elementsMax = 50_000;

/** Where something is in the bytes: from `start`, before `end`. */
export interface Span {
  start: number;
  end: number;
}

/** The arrays that are members of a root object, which are parsed element by element, and what is around them. */
export interface JsonPieces {
  /** JSON in which the array number `n` is `[n]`. */
  frame: Buffer;
  arrays: Span[][];
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, openBracket] = [0x7b, 0x5b];
const closers: ReadonlySet<number> = new Set([0x7d, 0x5d]);
/** Depth within an array that is a member of the root. */
const elementDepth = 2;

/**
 * Counts the values of a text before anything is made of them, and finds where it can be taken apart. One pass, no recursion;
 * whether it is JSON at all is for the parser to say, piece by piece.
 * Throws MalformedError `json_too_deep`, TooLargeError for more values than fit.
 */
export function findPieces(bytes: Buffer): JsonPieces {
  const arrays: Span[][] = [];
  const frame: Buffer[] = [];
  let frameStart = 0;
  let elementStart = 0;
  let depth = 0;
  let values = 0;
  let pieceValues = 0;
  let frameValues = 0;
  let elements: Span[] | undefined;
  const rootIsObject = bytes[skipBlank(bytes)] === openBrace;

  const endElement = (end: number) => {
    elements?.push({ start: elementStart, end });
    if (elements !== undefined && elements.length > elementsMax) throw tooMany('elements of an array', elementsMax);
    elementStart = end + 1;
    pieceValues = 0;
  };
  const count = () => {
    if (++values > bodyValuesMax) throw tooMany('values', bodyValuesMax);
    const own = elements === undefined ? ++frameValues : ++pieceValues;
    if (own > pieceValuesMax) throw tooMany('values in one piece', pieceValuesMax);
  };

  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (byte === quote) index = stringEnd(bytes, index + 1);
    else if (byte === openBrace || byte === openBracket) {
      count();
      if (++depth > jsonDepthMax) throw tooDeep();
      if (!rootIsObject || depth !== elementDepth || byte !== openBracket) continue;
      elements = [];
      frame.push(bytes.subarray(frameStart, index + 1), Buffer.from(String(arrays.length)));
      elementStart = index + 1;
    } else if (closers.has(byte)) {
      if (depth-- !== elementDepth || elements === undefined) continue;
      if (elements.length > 0 || skipBlank(bytes, elementStart) < index) endElement(index);
      arrays.push(elements);
      elements = undefined;
      frameStart = index;
      pieceValues = 0;
    } else if (byte === comma) {
      count();
      if (depth === elementDepth && elements !== undefined) endElement(index);
    }
  }
  // Cut off within an array: the frame lacks its end, so the parser refuses it.
  if (elements === undefined) frame.push(bytes.subarray(frameStart));
  return { frame: Buffer.concat(frame), arrays };
}

function skipBlank(bytes: Buffer, start = 0): number {
  let index = start;
  while (index < bytes.length && (bytes[index] ?? 0) <= 0x20) index++;
  return index;
}

/** The index of the closing quote. */
function stringEnd(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === backslash && end - 1 - escapes >= start) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return bytes.length;
}

function tooMany(what: string, most: number): TooLargeError {
  return new TooLargeError('body_too_large', `The body is limited to ${most} ${what}, objects and lists included`);
}

import { TooLargeError } from '../lib/errors.ts';
import { jsonCosts as costs } from '../lib/json-cost.ts';
import { longKeyMin } from '../lib/text-key.ts';
import { jsonDepthMax, tooDeep } from './json-walk.ts';

/** Maximum cost of work without a pause, about 20 ms. */
const pieceCostMax = 160_000;
const bodyCostMax = 5_000_000;
const elementsMax = 10_000;
/** Bytes scanned in one step, which takes at most three milliseconds. */
const stepBytes = 128 * 1024;

/** A range of bytes from `start` up to, but not including, `end`. */
export interface Span {
  start: number;
  end: number;
}

/**
 * The arrays that are members of a root object, which are parsed element by element, and the JSON
 * around them.
 */
export interface JsonPieces {
  /** JSON in which array number `n` is replaced with `[n]`. */
  frame: Buffer;
  arrays: Span[][];
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, openBracket] = [0x7b, 0x5b];
const closers: ReadonlySet<number> = new Set([0x7d, 0x5d]);
/** Depth within an array that is a member of the root. */
const elementDepth = 2;

/**
 * Counts the values of a JSON text before it is parsed, and finds where it can be split. Makes one
 * pass in steps, without recursion. Does not check that the text is JSON; the parser does that
 * piece by piece.
 * @throws MalformedError `json_too_deep`
 * @throws TooLargeError for more values than allowed
 */
export function* findPieces(bytes: Buffer): Generator<void, JsonPieces> {
  const arrays: Span[][] = [];
  const frame: Buffer[] = [];
  let frameStart = 0;
  let elementStart = 0;
  let depth = 0;
  let bodyCost = 0;
  let pieceCost = 0;
  let frameCost = 0;
  let elements: Span[] | undefined;
  let isInText = false;
  let textStart = 0;
  let textBytes = 0;
  let longNames = 0;
  let pauseAt = stepBytes;
  const rootIsObject = bytes[skipBlank(bytes)] === openBrace;

  const endElement = (end: number) => {
    elements?.push({ start: elementStart, end });
    if (elements !== undefined && elements.length > elementsMax) throw tooMany(`${elementsMax} elements in a list`);
    elementStart = end + 1;
    pieceCost = 0;
  };
  const count = (cost: number) => {
    bodyCost += cost;
    if (elements === undefined) frameCost += cost;
    else pieceCost += cost;
    if (bodyCost > bodyCostMax) throw tooMany(`${bodyCostMax / costs.container} values, including objects and lists`);
    if (Math.max(frameCost, pieceCost) > pieceCostMax) {
      throw tooMany(
        `${pieceCostMax / costs.container} values, including objects and lists (half as many if they have names), or ${pieceCostMax / costs.escape} escaped characters, in one element of a list or outside the lists`,
      );
    }
  };

  for (let index = 0; index < bytes.length; index++) {
    if (index >= pauseAt) {
      pauseAt = index + stepBytes;
      yield;
    }
    const byte = bytes[index] ?? 0;
    if (isInText) {
      if (byte === quote) {
        isInText = false;
        textBytes = index - textStart;
      } else if (byte === backslash) {
        count(costs.escape);
        index++;
      }
    } else if (byte === quote) {
      isInText = true;
      textStart = index;
    } else if (byte === openBrace || byte === openBracket) {
      count(costs.container);
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
      pieceCost = 0;
    } else if (byte === colon) {
      if (textBytes > longKeyMin && ++longNames > longNamesMax)
        throw tooMany(`${longNamesMax} names of ${longKeyMin} bytes and more`);
      count(costs.member);
    } else if (byte === comma) {
      count(costs.separator);
      if (depth === elementDepth && elements !== undefined) endElement(index);
    }
  }
  // If the text ends within an array, the frame lacks its end and the parser refuses it.
  if (elements === undefined) frame.push(bytes.subarray(frameStart));
  return { frame: Buffer.concat(frame), arrays };
}

/** Names of `longKeyMin` bytes and more in one body: the parser compares them with each other. */
const longNamesMax = 4;

function skipBlank(bytes: Buffer, start = 0): number {
  let index = start;
  while (index < bytes.length && (bytes[index] ?? 0) <= 0x20) index++;
  return index;
}

function tooMany(most: string): TooLargeError {
  return new TooLargeError('body_too_large', `The body may have at most ${most}`);
}

import { countJsonValues } from '../../lib/count-json-values.ts';
import type { SpanDetail, SpanPart } from '../spans/reads.ts';

/**
 * A span part is too large to be converted to text without delaying other requests. It is read in a
 * worker thread instead.
 */
export class LargePartError extends Error {
  constructor(part: SpanPart) {
    super(`The part ${part} is too large to be converted in the main thread`);
  }
}

/** Parsing and converting so many values takes about 10 ms. */
const bounds = { valuesMax: 60_000, depthMax: 500 };

/** The JSON texts that are parsed for a span part. */
const jsonOf: Record<SpanPart, (row: SpanDetail) => readonly string[]> = {
  input: ({ input = '' }) => (isStructure(input) ? [input] : []),
  output: ({ output = '' }) => (isStructure(output) ? [output] : []),
  attributes: ({ attributesOther = {} }) => Object.values(attributesOther),
  events: ({ events = '' }) => [events],
  links: ({ links = '' }) => [links],
  resource: ({ resource = '' }) => [resource],
  scope: ({ scope = '' }) => [scope],
};

/**
 * Checks that a span part can be converted to text in the main thread.
 * @throws LargePartError when it has too many values or is nested too deep
 */
export function requireSmallPart(row: SpanDetail, part: SpanPart): void {
  if (hasManyValues(jsonOf[part](row))) throw new LargePartError(part);
}

/** Returns whether JSON texts have together more values than the main thread parses in one step, or are nested too deep. */
export function hasManyValues(texts: readonly string[]): boolean {
  const chars = texts.reduce((sum, { length }) => sum + length, 0);
  // A text has no more values than characters.
  if (chars <= bounds.valuesMax) return false;
  return texts.reduce((sum, text) => sum + countJsonValues(text, bounds), 0) > bounds.valuesMax;
}

/** Returns whether a text that is JSON would be an object or a list. */
export function isStructure(text: string): boolean {
  return text[0] === '[' || text[0] === '{';
}

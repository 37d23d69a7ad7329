import { longKeyMin } from './text-key.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;

/**
 * A shorter text is not scanned, because it can be neither deep nor hold many values. It counts as
 * one value for every `charsPerValue` characters.
 */
const countedCharsMin = 1_024;
const charsPerValue = 8;

/**
 * Returns the approximate number of values (members, elements, structures) in a JSON text without
 * parsing it. Returns Infinity for more than `valuesMax` values, nesting deeper than `depthMax`, or a
 * name of {@link longKeyMin} characters and more, which the parser compares with all names of its length
 * that the process still knows. One pass, no recursion; does not check that the text is valid JSON.
 */
export function countJsonValues(
  json: string,
  { valuesMax, depthMax }: { valuesMax: number; depthMax: number },
): number {
  if (json.length < countedCharsMin) return Math.ceil(json.length / charsPerValue);
  let depth = 0;
  let values = 1;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) {
      const start = i;
      i = endOfString(json, i);
      if (i - start > longKeyMin && isName(json, i)) return Number.POSITIVE_INFINITY;
    } else if (code === 0x5b || code === 0x7b) {
      values++;
      if (++depth > depthMax) return Number.POSITIVE_INFINITY;
    } else if (code === 0x5d || code === 0x7d) depth--;
    else if (code === COMMA) values++;
    if (values > valuesMax) return Number.POSITIVE_INFINITY;
  }
  return values;
}

/**
 * Returns the index of the quote that closes the string opened at `start`: the first after an even
 * number of backslashes.
 */
function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return json.length;
}

/** Returns whether the string that ends at `end` is the name of a member. */
function isName(json: string, end: number): boolean {
  let at = end + 1;
  while (json.charCodeAt(at) <= SPACE) at++;
  return json.charCodeAt(at) === COLON;
}

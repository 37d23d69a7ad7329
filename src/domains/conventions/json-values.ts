const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * A shorter text is not scanned, because it can be neither deep nor hold many values. It counts as
 * one value for every `charsPerValue` characters.
 */
const countedCharsMin = 1_024;
const charsPerValue = 8;

/**
 * Returns the approximate number of values (members, elements, structures) in a JSON text without
 * parsing it. Returns Infinity for more than `valuesMax` values or nesting deeper than `depthMax`.
 * One pass, no recursion; does not check that the text is valid JSON.
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
    if (code === QUOTE) i = endOfString(json, i);
    else if (code === 0x5b || code === 0x7b) {
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

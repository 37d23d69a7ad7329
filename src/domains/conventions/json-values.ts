const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** A shorter text can neither be deep nor hold much; it is taken to hold a value for every so many characters. */
const countedCharsMin = 1_024;
const charsPerValue = 8;

/**
 * How many values (members, elements, structures) JSON text holds, give or take, without parsing it; Infinity when they are more than
 * `valuesMax` or nest deeper than `depthMax`. One pass, no recursion; whether it is JSON at all is not judged here.
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

/** The closing quote of the string that opens at `start`: the first one behind an even number of backslashes. */
function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return json.length;
}

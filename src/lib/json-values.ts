/** Returns whether a JSON value is an object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns whether a value holds at most `valuesMax` values: strings, numbers, arrays and objects.
 * Stops counting above that.
 */
export function hasAtMostValues(root: unknown, valuesMax: number): boolean {
  const open: unknown[] = [root];
  let seen = 0;
  while (open.length > 0) {
    const each = open.pop();
    if (++seen + open.length > valuesMax) return false;
    if (typeof each !== 'object' || each === null) continue;
    const items: unknown[] = Array.isArray(each) ? each : Object.values(each);
    if (items.length > valuesMax) return false;
    for (const item of items) open.push(item);
  }
  return true;
}

const [quote, backslash] = [0x22, 0x5c];
/** `,`, `:`, `[` and `{`: one of them stands before each value except the first. */
const beforeValue: ReadonlySet<number> = new Set([0x2c, 0x3a, 0x5b, 0x7b]);

/**
 * Returns an upper bound of the number of values in JSON bytes, without parsing them. JSON with few
 * values is parsed quickly. Keys count as well.
 */
export function countJsonTokens(json: Uint8Array): number {
  let tokens = 1;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (byte === quote) at = closingQuote(json, at);
    else if (beforeValue.has(byte)) tokens++;
  }
  return tokens;
}

/** Returns the position of the quotation mark that ends the string beginning at `begin`. */
function closingQuote(json: Uint8Array, begin: number): number {
  // Byte by byte: a search for each escaped quotation mark takes longer than reading past it.
  let at = begin + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}

/**
 * Decimal places to which a quotient must be whole for `multipleOf` of JSON Schema: 19.99 divided by 0.01 is
 * 1998.9999999999998.
 */
export const multipleOfPrecision = 9;

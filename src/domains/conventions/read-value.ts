import { countJsonValues } from '../../lib/count-json-values.ts';
import { textKey } from '../../lib/text-key.ts';
import type { AnyValue, Attributes } from '../../otlp/span.ts';
import { type Parsed, type Reading, warn } from './candidates.ts';
import { limits } from './limits.ts';

/**
 * Returns a scalar as non-empty text of at most `identifierCharsMax` UTF-16 units, or undefined for
 * anything else.
 */
export function text(value: AnyValue): string | undefined {
  return longText(value, limits.identifierCharsMax);
}

/**
 * Returns a scalar as non-empty text of at most `charsMax` UTF-16 units, or undefined for anything
 * else.
 */
export function longText(value: AnyValue, charsMax: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : cut(value, charsMax);
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return undefined;
}

/**
 * Returns text without the quotes of a JSON string, which some clients send: `"\"LLM\""` is `LLM`.
 */
export function unquoted(value: AnyValue, reading: Reading): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('"')) return text(value);
  const inner = parsed(value, reading);
  return text(typeof inner === 'string' ? inner : value);
}

/** What `Number` would read as hexadecimal, octal or binary. */
const otherBase = /^\s*0[box]/i;

/**
 * Returns a scalar as a number, including decimal text. Other text becomes NaN, any other value
 * undefined.
 */
export function number(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && value.trim() !== '') return otherBase.test(value) ? Number.NaN : Number(value);
  return undefined;
}

/**
 * Returns a token count. A negative, fractional or too large one is dropped with the warning
 * `bad_token_count`.
 */
export function count(value: unknown, reading: Reading): number | undefined {
  const read = number(value);
  if (read === undefined) return undefined;
  if (Number.isInteger(read) && read >= 0 && read <= limits.tokenCountMax) return read;
  warn(reading, 'bad_token_count');
  return undefined;
}

/**
 * Returns the value at a path of a JSON object that was sent as text or as a kvlist, or undefined
 * when there is none.
 */
export function member(value: AnyValue, path: readonly string[], reading: Reading): unknown {
  let at = parsed(value, reading);
  for (const key of path) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/**
 * Returns a value as JSON. Structures are converted; text is parsed when it is a JSON object, array
 * or string. Each value is read once for a span, and counts once for each event that has it. Returns
 * undefined for text that is not JSON, and for values over the budget (`json_unparsed`).
 */
export function parsed(value: AnyValue, reading: Reading): unknown {
  if (typeof value === 'string' ? !looksLikeJson(value) || value.length > limits.jsonCharsMax : !isStructure(value)) {
    return typeof value === 'string' ? undefined : plain(value);
  }
  reading.parsed ??= new Map();
  const key = typeof value === 'string' ? textKey(value) : value;
  const known = reading.parsed.get(key);
  if (known !== undefined) return readAgain(known, reading);
  const { event } = reading;
  const values = valuesOf(value, Math.min(reading.left.values, reading.leftOfBody.values));
  const result = !charge(values, reading) ? undefined : typeof value === 'string' ? parseJson(value) : plain(value);
  reading.parsed.set(key, { result, values, event });
  return result;
}

/**
 * Returns the reading of one event of the span. What the event has sent counts for the budget, although
 * another event has sent the same.
 */
export function eventReading(reading: Reading, event: Attributes): Reading {
  reading.parsed ??= new Map();
  return { ...reading, event };
}

function readAgain(known: Parsed, reading: Reading): unknown {
  if (known.event !== reading.event && known.result !== undefined) {
    if (!charge(known.values, reading)) return undefined;
    known.event = reading.event;
  }
  return known.result;
}

/** Takes values from the budget. Returns false with a warning when it has fewer. */
function charge(values: number, reading: Reading): boolean {
  const { left, leftOfBody } = reading;
  const isWithin = values <= left.values && values <= leftOfBody.values;
  if (isWithin) {
    left.values -= values;
    leftOfBody.values -= values;
  } else warn(reading, 'json_unparsed');
  return isWithin;
}

function valuesOf(value: AnyValue, valuesMax: number): number {
  return typeof value === 'string'
    ? countJsonValues(value, { valuesMax, depthMax: limits.jsonDepthMax })
    : countValues(value, valuesMax);
}

function isStructure(value: AnyValue): value is AnyValue[] | Attributes {
  return Array.isArray(value) || value instanceof Map;
}

/**
 * Counts the values of a structure, including itself. Stops soon after `max`. The decoder limits
 * the depth.
 */
function countValues(value: AnyValue, max: number): number {
  if (!isStructure(value)) return 1;
  let values = 1;
  for (const each of value.values()) {
    if (values > max) break;
    values += countValues(each, max - values);
  }
  return values;
}

/**
 * Returns undefined when the text is not JSON. Use only for text that is known to be small, and
 * {@link parsed} for all other text.
 */
export function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/**
 * Returns whether calling `JSON.parse` is worthwhile. An exception costs as much as normalizing a
 * whole span.
 */
export function looksLikeJson(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) continue;
    return code === 0x7b || code === 0x5b || code === 0x22;
  }
  return false;
}

/**
 * Converts an OTLP value to plain JSON. Integers beyond 2^53 and non-finite numbers become text,
 * bytes become base64, and levels that are too deep become null.
 */
export function plain(value: AnyValue, depth = 0): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (depth >= limits.depthMax) return null;
  if (Array.isArray(value)) return value.map((each) => plain(each, depth + 1));
  return Object.fromEntries(Array.from(value, ([key, each]) => [key, plain(each, depth + 1)]));
}

/** Returns whether a value is an object and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the first `charsMax` UTF-16 units, or one less where that would split a surrogate pair.
 */
export function cut(value: string, charsMax: number): string {
  if (value.length <= charsMax) return value;
  const last = value.charCodeAt(charsMax - 1);
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? charsMax - 1 : charsMax);
}

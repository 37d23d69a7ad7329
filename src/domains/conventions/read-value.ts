import type { AnyValue, Attributes } from '../../otlp/span.ts';
import { type Reading, warn } from './candidates.ts';
import { countJsonValues } from './json-values.ts';
import { limits } from './limits.ts';

/** A scalar as non-empty text of at most `identifierCharsMax` units; undefined for anything else. */
export function text(value: AnyValue): string | undefined {
  return longText(value, limits.identifierCharsMax);
}

export function longText(value: AnyValue, charsMax: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : cut(value, charsMax);
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return undefined;
}

/** Text that some clients send as a JSON string: `"\"LLM\""` is `LLM`. */
export function unquoted(value: AnyValue, reading: Reading): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('"')) return text(value);
  const inner = parsed(value, reading);
  return text(typeof inner === 'string' ? inner : value);
}

/** A scalar as a number; numeric strings count. NaN stands for a text that is no number. */
export function number(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && value.trim() !== '') return Number(value);
  return undefined;
}

/** A token count; a negative, fractional or absurd one is dropped with the warning `bad_token_count` (N5). */
export function count(value: unknown, reading: Reading): number | undefined {
  const read = number(value);
  if (read === undefined) return undefined;
  if (Number.isInteger(read) && read >= 0 && read <= limits.tokenCountMax) return read;
  warn(reading, 'bad_token_count');
  return undefined;
}

/** The value below a path of a JSON object, sent as text or as a kvlist; undefined when there is none. */
export function member(value: AnyValue, path: readonly string[], reading: Reading): unknown {
  let at = parsed(value, reading);
  for (const key of path) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/**
 * A value as JSON would hold it: structures as they are, text parsed when it is a JSON object, array or string. Each is read once a
 * span, and what exceeds the budget not at all (`json_unparsed`): undefined then, as for text that is no JSON.
 */
export function parsed(value: AnyValue, reading: Reading): unknown {
  if (typeof value === 'string' ? !looksLikeJson(value) || value.length > limits.jsonCharsMax : !isStructure(value)) {
    return typeof value === 'string' ? undefined : plain(value);
  }
  reading.parsed ??= new Map();
  if (reading.parsed.has(value)) return reading.parsed.get(value);
  const result = readWithinBudget(value, reading);
  reading.parsed.set(value, result);
  return result;
}

function readWithinBudget(value: AnyValue, reading: Reading): unknown {
  const { left, leftOfBody } = reading;
  const valuesMax = Math.min(left.values, leftOfBody.values);
  const values =
    typeof value === 'string'
      ? countJsonValues(value, { valuesMax, depthMax: limits.jsonDepthMax })
      : countValues(value, valuesMax);
  if (values > valuesMax) {
    warn(reading, 'json_unparsed');
    return undefined;
  }
  left.values -= values;
  leftOfBody.values -= values;
  return typeof value === 'string' ? parseJson(value) : plain(value);
}

function isStructure(value: AnyValue): value is AnyValue[] | Attributes {
  return Array.isArray(value) || value instanceof Map;
}

/** The values of a structure, itself included; about `max` are looked at. The decoder bounds the depth. */
function countValues(value: AnyValue, max: number): number {
  if (!isStructure(value)) return 1;
  let values = 1;
  for (const each of value.values()) {
    if (values > max) break;
    values += countValues(each, max - values);
  }
  return values;
}

/** Undefined when it is not JSON. For text that is known to be small: everything else is read by {@link parsed}. */
export function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** True when it is worth calling `JSON.parse`: a throw costs as much as normalising a whole span. */
export function looksLikeJson(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) continue;
    return code === 0x7b || code === 0x5b || code === 0x22;
  }
  return false;
}

/** An OTLP value as plain JSON: integers beyond 2^53 and non-finite numbers become text, bytes base64, too deep null. */
export function plain(value: AnyValue, depth = 0): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (depth >= limits.depthMax) return null;
  if (Array.isArray(value)) return value.map((each) => plain(each, depth + 1));
  return Object.fromEntries(Array.from(value, ([key, each]) => [key, plain(each, depth + 1)]));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first `charsMax` UTF-16 units, one less where that would split a surrogate pair. */
export function cut(value: string, charsMax: number): string {
  if (value.length <= charsMax) return value;
  const last = value.charCodeAt(charsMax - 1);
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? charsMax - 1 : charsMax);
}

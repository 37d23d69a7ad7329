import { MalformedError } from '../lib/errors.ts';
import { JsonContext, mayHoldLoneSurrogates } from './json-fields.ts';
import { readAnyValue, readAttributes } from './json-values.ts';
import { defaultOtlpLimits, type OtlpLimits } from './limits.ts';
import type { AnyValue, Attributes } from './span.ts';
import { wellFormed } from './text.ts';

/**
 * Stored values were accepted before and must be read back whole, so only the nesting depth is
 * limited.
 */
const storedLimits: OtlpLimits = {
  ...defaultOtlpLimits,
  attributeValueBytesMax: Number.POSITIVE_INFINITY,
  attributesMax: Number.POSITIVE_INFINITY,
  longKeysMax: Number.POSITIVE_INFINITY,
  depthMax: 1_000,
};

const keptKeysMax = 4096;
const keptKeyLengthMax = 64;
const entryStarts = new Map<string, string>();

/**
 * Matches characters that a JSON string cannot hold unescaped, and all surrogates, because they may
 * be lone.
 */
const needsEscape = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/**
 * Returns the canonical OTLP/JSON of a value: 64-bit integers as strings, bytes as base64.
 * @throws MalformedError when the value is nested over 1,000 levels deep
 */
export function anyValueToJson(value: AnyValue): string {
  return writeValue(value, 1);
}

/**
 * Returns attributes as OTLP/JSON: `[{"key":..,"value":{..}}]`.
 * @throws MalformedError when a value is nested over 1,000 levels deep
 */
export function attributesToJson(attributes: Attributes): string {
  return writeEntries(attributes, 1);
}

/**
 * Reads what `attributesToJson` wrote.
 * @throws MalformedError for anything else
 */
export function attributesFromJson(text: string): Attributes {
  const context = new JsonContext(storedLimits, mayHoldLoneSurrogates(text));
  return readAttributes(context, parse(text)).attributes;
}

/**
 * Reads the parsed form of what `attributesToJson` wrote, for example inside an event.
 * @throws MalformedError for anything else
 */
export function attributesFromStored(json: unknown): Attributes {
  return readAttributes(new JsonContext(storedLimits, false), json).attributes;
}

/**
 * Reads what `anyValueToJson` wrote.
 * @throws MalformedError for anything else
 */
export function anyValueFromJson(text: string): AnyValue {
  return readAnyValue(new JsonContext(storedLimits, mayHoldLoneSurrogates(text)), parse(text), 1);
}

function writeValue(value: AnyValue, depth: number): string {
  if (typeof value === 'string') return `{"stringValue":${quoted(value)}}`;
  if (typeof value === 'bigint') return `{"intValue":"${value}"}`;
  if (typeof value === 'number') return `{"doubleValue":${writeDouble(value)}}`;
  if (typeof value === 'boolean') return value ? '{"boolValue":true}' : '{"boolValue":false}';
  if (value === null) return '{}';
  if (value instanceof Uint8Array) return `{"bytesValue":"${base64(value)}"}`;
  if (depth >= storedLimits.depthMax && (Array.isArray(value) ? value.length : value.size) > 0)
    throw new MalformedError(
      'malformed_otlp',
      `The attribute value is nested more than ${storedLimits.depthMax} levels deep`,
    );
  if (!Array.isArray(value)) return `{"kvlistValue":{"values":${writeEntries(value, depth + 1)}}}`;
  return `{"arrayValue":{"values":[${value.map((element) => writeValue(element, depth + 1)).join(',')}]}}`;
}

function writeEntries(attributes: Attributes, depth: number): string {
  let text = '[';
  for (const [key, value] of attributes) {
    text += `${text.length > 1 ? ',' : ''}${entryStart(key)}${writeValue(value, depth)}}`;
  }
  return `${text}]`;
}

/**
 * Returns `{"key":..,"value":`. The same few keys occur in every span, and a cache lookup costs a
 * fifth of writing them again.
 */
function entryStart(key: string): string {
  const known = entryStarts.get(key);
  if (known !== undefined) return known;
  const start = `{"key":${quoted(key)},"value":`;
  if (key.length > keptKeyLengthMax) return start;
  if (entryStarts.size >= keptKeysMax) entryStarts.clear();
  entryStarts.set(key, start);
  return start;
}

/**
 * Quotes a JSON string. JSON.stringify escapes lone surrogates only, so an escape with `\ud` needs
 * a check.
 */
function quoted(text: string): string {
  if (!needsEscape.test(text)) return `"${text}"`;
  const json = JSON.stringify(text);
  return json.includes('\\ud') ? JSON.stringify(wellFormed(text)) : json;
}

/** Writes a double. JSON has no NaN or Infinity, and JSON.stringify loses the sign of zero. */
function writeDouble(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? '-0' : String(value);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MalformedError('malformed_otlp', 'The stored attributes are not JSON', { cause });
  }
}

import { longKeyMin } from '../lib/text-key.ts';
import {
  isObject,
  type JsonContext,
  type JsonObject,
  plusDropped,
  readCutString,
  readInt64,
  readString,
} from './json-fields.ts';
import type { AnyValue, Attributes } from './span.ts';
import { warning } from './warnings.ts';

/** Attributes, and the number of entries above the limit. */
export interface ReadAttributes {
  attributes: Attributes;
  dropped: number;
}

type MemberReader = (context: JsonContext, value: unknown, depth: number) => AnyValue;

/** The members of the oneof of AnyValue. */
const members: ReadonlyMap<string, MemberReader> = new Map<string, MemberReader>([
  ['stringValue', readStringValue],
  ['boolValue', readBool],
  ['intValue', (context, value) => readInt64(context, value, 'intValue')],
  ['doubleValue', readDouble],
  ['arrayValue', readArrayValue],
  ['kvlistValue', readKvlistValue],
  ['bytesValue', readBytes],
]);

const numberWords: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** Reads an attribute list. Also accepts a plain object, although OTLP/JSON forbids it. */
export function readAttributes(context: JsonContext, value: unknown): ReadAttributes {
  const attributes: Attributes = new Map();
  const total = readEntries(context, value, attributes, context.limits.attributesMax, 1);
  const dropped = Math.max(0, total - context.limits.attributesMax);
  if (dropped > 0) context.warnings |= warning.attributesDropped;
  return { attributes, dropped };
}

/** Reads the attributes of an object that has them, and how many the sender and we dropped. */
export function readAttributed(context: JsonContext, sent: JsonObject) {
  const { attributes, dropped } = readAttributes(context, sent.attributes);
  const droppedAttributesCount = plusDropped(context, sent.droppedAttributesCount, 'droppedAttributesCount', dropped);
  return { attributes, droppedAttributesCount };
}

/** Reads at most `max` entries into `into` and returns the total number of entries. */
function readEntries(context: JsonContext, value: unknown, into: Attributes, max: number, depth: number): number {
  if (value === undefined || value === null) return 0;
  if (Array.isArray(value)) {
    for (const entry of value.slice(0, max)) readKeyValue(context, entry, into, depth);
    return value.length;
  }
  if (!isObject(value)) context.malformed('attributes must be an array');
  const keys = Object.keys(value);
  for (const key of keys.slice(0, max))
    into.set(boundedKey(context, context.wellFormed(key)), readAnyValue(context, value[key], depth));
  return keys.length;
}

function readKeyValue(context: JsonContext, entry: unknown, into: Attributes, depth: number): void {
  if (!isObject(entry)) {
    context.refuse('an attribute must be an object of key and value', entry);
    return;
  }
  if (entry.keyStrindex !== undefined && entry.keyStrindex !== null) context.warnings |= warning.strindexIgnored;
  const key = boundedKey(context, readString(context, entry.key, 'attribute key'));
  into.set(key, readAnyValue(context, entry.value, depth));
}

function boundedKey(context: JsonContext, key: string): string {
  if (key.length >= longKeyMin) context.countLongKey();
  return key;
}

/** Reads an AnyValue. Also accepts a bare scalar or array, although OTLP/JSON forbids it. */
export function readAnyValue(context: JsonContext, value: unknown, depth: number): AnyValue {
  const { depthMax } = context.limits;
  if (depth > depthMax) context.malformed(`attribute values nested more than ${depthMax} levels deep`);
  if (typeof value === 'string') return readStringValue(context, value);
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map((element) => readAnyValue(context, element, depth + 1));
  return isObject(value) ? readMembers(context, value, depth) : null;
}

/**
 * Reads the members of an AnyValue. The last member wins. Unknown names and null count as absent.
 */
function readMembers(context: JsonContext, value: JsonObject, depth: number): AnyValue {
  let result: AnyValue = null;
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === null) continue;
    const read = members.get(name);
    if (read) result = read(context, member, depth);
    else if (name === 'stringValueStrindex') context.warnings |= warning.strindexIgnored;
  }
  return result;
}

function readStringValue(context: JsonContext, value: unknown): string {
  return readCutString(context, value, 'stringValue', warning.attributeTruncated);
}

function readBool(context: JsonContext, value: unknown): boolean {
  if (typeof value !== 'boolean') context.refuse('boolValue must be true or false', value);
  return value === true;
}

/**
 * Reads a number, a numeric string, or one of the words for values that JSON numbers cannot
 * express.
 */
function readDouble(context: JsonContext, value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') {
    const word = numberWords.get(value);
    if (word !== undefined) return word;
    if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return Number(value);
  }
  context.refuse('doubleValue must be a number, "NaN", "Infinity" or "-Infinity"', value);
  return 0;
}

/** Reads base64 in the standard or the URL alphabet. Padding is optional. */
function readBytes(context: JsonContext, value: unknown): Uint8Array {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) {
    context.refuse('bytesValue must be base64', value);
    return new Uint8Array();
  }
  const bytes = Buffer.from(value, 'base64');
  const { attributeValueBytesMax } = context.limits;
  if (bytes.length > attributeValueBytesMax) context.warnings |= warning.attributeTruncated;
  return new Uint8Array(bytes.subarray(0, attributeValueBytesMax));
}

function readArrayValue(context: JsonContext, value: unknown, depth: number): AnyValue[] {
  const values = isObject(value) ? (value.values ?? []) : undefined;
  if (Array.isArray(values)) return values.map((element) => readAnyValue(context, element, depth + 1));
  context.refuse('arrayValue must be an object with an array of values', value);
  return [];
}

function readKvlistValue(context: JsonContext, value: unknown, depth: number): Attributes {
  const list: Attributes = new Map();
  if (isObject(value) && typeof (value.values ?? null) === 'object')
    readEntries(context, value.values, list, Number.POSITIVE_INFINITY, depth + 1);
  else context.refuse('kvlistValue must be an object with an array of values', value);
  return list;
}

import { MalformedError } from '../lib/errors.ts';
import { longKeyMin } from '../lib/text-key.ts';
import { readIsoTime } from './iso-time.ts';
import { LongStepError, type OtlpLimits } from './limits.ts';
import { type ItemFault, shown } from './rejections.ts';
import { cutUtf8, wellFormed } from './text.ts';
import { warning } from './warnings.ts';

const uint32Max = 2n ** 32n - 1n;
const int32Max = 2n ** 31n - 1n;
const uint64Max = 2n ** 64n - 1n;
const int64Max = 2n ** 63n - 1n;

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * State of reading one JSON body. A fault inside a span or log record is recorded, so that only this
 * item is rejected.
 */
export class JsonContext {
  readonly limits: OtlpLimits;
  /** Bits of `warning` since the last `takeWarnings`. */
  warnings = 0;
  /** The current position in the body, for messages. */
  path = '';
  readonly #mayHoldLoneSurrogates: boolean;
  #elements = 0;
  #longKeys = 0;
  #inItem = false;
  #fault: ItemFault | undefined;

  constructor(limits: OtlpLimits, mayHoldLoneSurrogates: boolean) {
    this.limits = limits;
    this.#mayHoldLoneSurrogates = mayHoldLoneSurrogates;
  }

  /**
   * Counts resources, scopes, spans or log records before they are read.
   * @throws LongStepError
   */
  count(elements: number): void {
    this.#elements += elements;
    if (this.#elements > (this.limits.stepElementsMax?.json ?? Number.POSITIVE_INFINITY)) throw new LongStepError();
  }

  beginItem(): void {
    this.#inItem = true;
    this.#fault = undefined;
  }

  /** Returns the first fault of the current item, if any. */
  endItem(): ItemFault | undefined {
    this.#inItem = false;
    return this.#fault;
  }

  takeWarnings(): number {
    const { warnings } = this;
    this.warnings = 0;
    return warnings;
  }

  /**
   * Records a value that breaks a rule. Inside an item only the item is rejected.
   * @throws MalformedError outside of items
   */
  /** @throws MalformedError for too many long keys */
  countLongKey(): void {
    const { longKeysMax } = this.limits;
    if (++this.#longKeys > longKeysMax) this.malformed(`more than ${longKeysMax} keys of ${longKeyMin} bytes and more`);
  }

  refuse(rule: string, value: unknown): void {
    if (!this.#inItem) this.malformed(`${rule}, not ${shown(value)}`);
    this.#fault ??= { rule, value: shown(value) };
  }

  malformed(what: string): never {
    throw new MalformedError('malformed_otlp', `Not an OTLP JSON body: ${what}${this.path && ` (in ${this.path})`}`);
  }

  wellFormed(text: string): string {
    if (!this.#mayHoldLoneSurrogates) return text;
    const repaired = wellFormed(text);
    if (repaired !== text) this.warnings |= warning.invalidUtf8;
    return repaired;
  }
}

/**
 * Returns whether the text may contain lone surrogates. JSON decoded from UTF-8 has none, so only
 * escapes can produce them. Most bodies have no such escape and need no further check.
 */
export function mayHoldLoneSurrogates(json: string): boolean {
  return /\\u[dD][89a-fA-F]/.test(json);
}

/** Returns whether a JSON value is an object, not an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads a string; '' when absent. Refuses any other value. */
export function readString(context: JsonContext, value: unknown, field: string): string {
  if (typeof value === 'string') return context.wellFormed(value);
  if (value !== undefined && value !== null) context.refuse(`${field} must be a string`, value);
  return '';
}

/** Reads a string outside of attributes, '' when absent, and cuts it to `attributeValueBytesMax`. */
export function readText(context: JsonContext, value: unknown, field: string): string {
  return readCutString(context, value, field, warning.textTruncated);
}

/** Reads a string and cuts it to `attributeValueBytesMax` bytes, which the bit `truncated` of `warning` notes. */
export function readCutString(context: JsonContext, value: unknown, field: string, truncated: number): string {
  const text = readString(context, value, field);
  const { attributeValueBytesMax } = context.limits;
  if (text.length * 3 <= attributeValueBytesMax || Buffer.byteLength(text) <= attributeValueBytesMax) return text;
  context.warnings |= truncated;
  const bytes = Buffer.from(text);
  return bytes.toString('utf8', 0, cutUtf8(bytes, 0, bytes.length, attributeValueBytesMax));
}

/** Reads an unsigned 32-bit integer; 0 when absent. Refuses any other value. */
export function readUint32(context: JsonContext, value: unknown, field: string): number {
  if (value === undefined || value === null) return 0;
  const number = integer(value, uint32Max);
  if (number !== undefined && number >= 0n && number <= uint32Max) return Number(number);
  context.refuse(`${field} must be an integer from 0 to 4294967295`, value);
  return 0;
}

/** Adds the number of entries that we drop to the dropped count of the sender. */
export function plusDropped(context: JsonContext, sent: unknown, field: string, dropped: number): number {
  return Math.min(readUint32(context, sent, field) + dropped, Number(uint32Max));
}

/** The names of an enum's numbers from 0, without their common prefix. */
export interface EnumNames {
  prefix: string;
  names: readonly string[];
}

/**
 * Reads an integer enum. Accepts names such as SPAN_KIND_SERVER, SERVER or server too, although
 * OTLP/JSON forbids them.
 */
export function readEnum(context: JsonContext, value: unknown, field: string, { prefix, names }: EnumNames): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === 'string') {
    const name = value.toUpperCase();
    const known = names.indexOf(name.startsWith(prefix) ? name.slice(prefix.length) : name);
    if (known >= 0) return known;
  }
  const number = integer(value, int32Max);
  if (number !== undefined && BigInt.asIntN(32, number) === number) return Number(number);
  context.refuse(`${field} must be an integer of 32 bits`, value);
  return 0;
}

/**
 * Reads nanoseconds from a string or number. Accepts ISO 8601 too, although OTLP/JSON forbids it.
 */
export function readTime(context: JsonContext, value: unknown, field: string): bigint {
  if (value === undefined || value === null) return 0n;
  const nanos = integer(value, uint64Max) ?? (typeof value === 'string' ? readIsoTime(value) : undefined);
  if (nanos !== undefined && BigInt.asUintN(64, nanos) === nanos) return nanos;
  context.refuse(`${field} must be nanoseconds since 1970 in 64 bits`, value);
  return 0n;
}

/** Reads an id of `bytes` bytes as hex of any case. Returns undefined for anything else, also for zeros. */
export function readHexId(value: unknown, bytes: number): string | undefined {
  if (typeof value !== 'string' || value.length !== 2 * bytes) return undefined;
  return /^[0-9a-fA-F]+$/.test(value) && !/^0+$/.test(value) ? value.toLowerCase() : undefined;
}

/** Reads a signed 64-bit integer. Refuses any other value and then returns 0. */
export function readInt64(context: JsonContext, value: unknown, field: string): bigint {
  const number = integer(value, int64Max);
  if (number !== undefined && BigInt.asIntN(64, number) === number) return number;
  context.refuse(`${field} must be an integer of 64 bits`, value);
  return 0n;
}

/**
 * Reads an integer as proto3 JSON writes it: a number, or a string with or without an exponent. A
 * number above 2^53 has lost digits: its shortest decimal is what a JavaScript sender meant, and a
 * number that was rounded up above `max` meant `max`.
 */
function integer(value: unknown, max: bigint): bigint | undefined {
  if (typeof value === 'string') {
    if (/^-?\d{1,20}$/.test(value)) return BigInt(value);
    return /^-?\d{1,20}(\.\d{1,20})?([eE][+-]?\d{1,2})?$/.test(value) ? integer(Number(value), max) : undefined;
  }
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  if (value === Number(max)) return max;
  return Number.isSafeInteger(value) || Math.abs(value) >= 1e21 ? BigInt(value) : BigInt(String(value));
}

import { MalformedError } from '../lib/errors.ts';
import { readIsoTime } from './iso-time.ts';
import type { OtlpLimits } from './limits.ts';
import { type SpanFault, shown } from './rejections.ts';
import { wellFormed } from './text.ts';
import { warning } from './warnings.ts';

const uint32Max = 2n ** 32n - 1n;
const int32Max = 2n ** 31n - 1n;
const uint64Max = 2n ** 64n - 1n;
const int64Max = 2n ** 63n - 1n;

export type JsonObject = Readonly<Record<string, unknown>>;

/** What the reading of one JSON body carries along. A fault inside a span is noted, so that only that span is lost. */
export class JsonContext {
  readonly limits: OtlpLimits;
  /** Bits of `warning` since `takeWarnings`. */
  warnings = 0;
  /** Where we are, for messages. */
  path = '';
  readonly #mayHoldLoneSurrogates: boolean;
  #inSpan = false;
  #fault: SpanFault | undefined;

  constructor(limits: OtlpLimits, mayHoldLoneSurrogates: boolean) {
    this.limits = limits;
    this.#mayHoldLoneSurrogates = mayHoldLoneSurrogates;
  }

  beginSpan(): void {
    this.#inSpan = true;
    this.#fault = undefined;
  }

  /** The first fault of the span begun last, if any. */
  endSpan(): SpanFault | undefined {
    this.#inSpan = false;
    return this.#fault;
  }

  takeWarnings(): number {
    const { warnings } = this;
    this.warnings = 0;
    return warnings;
  }

  /** A value that breaks a rule: rejects the span it is in, or the body when it is outside of spans. */
  refuse(rule: string, value: unknown): void {
    if (!this.#inSpan) this.malformed(`${rule}, not ${shown(value)}`);
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

/** Lone surrogates can only come from escapes, as JSON text from UTF-8 has none; most bodies need no closer look. */
export function mayHoldLoneSurrogates(json: string): boolean {
  return /\\u[dD][89a-fA-F]/.test(json);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readString(context: JsonContext, value: unknown, field: string): string {
  if (typeof value === 'string') return context.wellFormed(value);
  if (value !== undefined && value !== null) context.refuse(`${field} must be a string`, value);
  return '';
}

export function readUint32(context: JsonContext, value: unknown, field: string): number {
  if (value === undefined || value === null) return 0;
  const number = integer(value, uint32Max);
  if (number !== undefined && number >= 0n && number <= uint32Max) return Number(number);
  context.refuse(`${field} must be an integer from 0 to 4294967295`, value);
  return 0;
}

/** The count of what the sender dropped, plus what we drop. */
export function plusDropped(context: JsonContext, sent: unknown, field: string, dropped: number): number {
  return Math.min(readUint32(context, sent, field) + dropped, Number(uint32Max));
}

/** J4: an integer; names such as SPAN_KIND_SERVER, SERVER or server are taken although OTLP/JSON has none. */
export function readEnum(context: JsonContext, value: unknown, prefix: string, names: readonly string[]): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === 'string') {
    const name = value.toUpperCase();
    const known = names.indexOf(name.startsWith(prefix) ? name.slice(prefix.length) : name);
    if (known >= 0) return known;
  }
  const number = integer(value, int32Max);
  if (number !== undefined && BigInt.asIntN(32, number) === number) return Number(number);
  context.refuse(`${prefix === 'SPAN_KIND_' ? 'kind' : 'status.code'} must be an integer of 32 bits`, value);
  return 0;
}

/** J5: nanoseconds as string or number; ISO 8601 is taken although OTLP/JSON has none. */
export function readTime(context: JsonContext, value: unknown, field: string): bigint {
  if (value === undefined || value === null) return 0n;
  const nanos = integer(value, uint64Max) ?? (typeof value === 'string' ? readIsoTime(value) : undefined);
  if (nanos !== undefined && BigInt.asUintN(64, nanos) === nanos) return nanos;
  context.refuse(`${field} must be nanoseconds since 1970 in 64 bits`, value);
  return 0n;
}

export function readInt64(context: JsonContext, value: unknown, field: string): bigint {
  const number = integer(value, int64Max);
  if (number !== undefined && BigInt.asIntN(64, number) === number) return number;
  context.refuse(`${field} must be an integer of 64 bits`, value);
  return 0n;
}

/**
 * An integer as proto3 JSON writes one: a number, or a string with or without an exponent. A number past 2^53 has lost
 * digits: its shortest decimal is what a JavaScript sender meant, and one that rounded up past `max` meant `max`.
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

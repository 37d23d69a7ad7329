import type { DecodeReader } from './decode-reader.ts';
import { message } from './otlp-schema.ts';
import { valueTooDeep } from './scan-protobuf.ts';
import type { AnyValue, Attributes } from './span.ts';
import { warning } from './warnings.ts';

/**
 * Reads entry number `count` of an attribute list into `attributes`, or skips it above
 * `attributesMax`. The limit counts entries, not distinct keys, so that the scan need not read
 * keys.
 */
export function readAttribute(reader: DecodeReader, end: number, attributes: Attributes, count: number): void {
  if (count < reader.limits.attributesMax) readKeyValue(reader, reader.message(end), attributes, 0);
  else {
    reader.leaveOut(message.keyValue, end);
    reader.warnings |= warning.attributesDropped;
  }
}

/** Adds the entries of a list above `max` to the dropped count that the sender gave. */
export function plusDropped(sent: number, count: number, max: number): number {
  return count <= max ? sent : Math.min(sent + count - max, 0xffff_ffff);
}

function readKeyValue(reader: DecodeReader, end: number, into: Attributes, depth: number): void {
  let key = '';
  let value: AnyValue = null;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) key = reader.key(end);
    else if (tag === 0x12) value = readAnyValue(reader, reader.message(end), value, depth + 1);
    else skipInValue(reader, tag, 0x18, end);
  }
  into.set(key, value);
}

/**
 * Reads an AnyValue. If it has several members, the last one wins. A repeated array or key-value
 * list is continued, as protobuf merges messages.
 * @throws MalformedError for a value that is nested too deep
 */
export function readAnyValue(reader: DecodeReader, end: number, before: AnyValue, depth: number): AnyValue {
  if (depth > reader.limits.depthMax) valueTooDeep(reader);
  let value = before;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    switch (tag) {
      case 0x0a:
        value = reader.valueText(end);
        break;
      case 0x10:
        value = reader.bool(end);
        break;
      case 0x18:
        value = reader.int64(end);
        break;
      case 0x21:
        value = reader.double(end);
        break;
      case 0x2a:
        value = readArray(reader, reader.message(end), Array.isArray(value) ? value : [], depth);
        break;
      case 0x32:
        value = readKeyValueList(reader, reader.message(end), value instanceof Map ? value : new Map(), depth);
        break;
      case 0x3a:
        value = reader.valueBytes(end);
        break;
      default:
        skipInValue(reader, tag, 0x40, end);
    }
  }
  return value;
}

function readArray(reader: DecodeReader, end: number, values: AnyValue[], depth: number): AnyValue[] {
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) values.push(readAnyValue(reader, reader.message(end), null, depth + 1));
    else reader.skip(tag, end);
  }
  return values;
}

function readKeyValueList(reader: DecodeReader, end: number, values: Attributes, depth: number): Attributes {
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readKeyValue(reader, reader.message(end), values, depth);
    else reader.skip(tag, end);
  }
  return values;
}

function skipInValue(reader: DecodeReader, tag: number, strindexTag: number, end: number): void {
  if (tag === strindexTag) reader.warnings |= warning.strindexIgnored;
  reader.skip(tag, end);
}

import { blankResource, blankScope } from './blank.ts';
import { DecodeReader } from './decode-reader.ts';
import { plusDropped, readAttribute } from './decode-values.ts';
import type { OtlpLimits } from './limits.ts';
import { refuseOtherItems } from './other-signal.ts';
import { signalTerms } from './otlp-schema.ts';
import type { Signal } from './signal.ts';
import type { Resource, Scope } from './span.ts';
import { noteOnItems } from './warnings.ts';

/** Reads one item. Returns undefined for an item that the scan rejects. */
type ItemReader<Item> = (reader: DecodeReader, end: number, resource: Resource, scope: Scope) => Item | undefined;

interface Decoding<Item> {
  reader: DecodeReader;
  readItem: ItemReader<Item>;
  itemMessage: number;
  itemsMax: number;
  items: Item[];
}

/**
 * Decodes the spans or log records that the scan accepts, in one pass.
 * @throws MalformedError on invalid protobuf data, and for a body of another signal
 */
export function decodeProtobufRequest<Item extends { warnings: string[] }>(
  signal: Signal,
  readItem: ItemReader<Item>,
  bytes: Uint8Array,
  limits: OtlpLimits,
): Item[] {
  const { itemMessage, itemsMax } = signalTerms[signal];
  const reader = new DecodeReader(bytes, limits);
  const decoding: Decoding<Item> = { reader, readItem, itemMessage, itemsMax: limits[itemsMax], items: [] };
  const end = bytes.length;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readResourceItems(decoding, reader.message(end));
    else reader.skip(tag, end);
  }
  refuseOtherItems(signal, decoding.items.length, bytes, limits);
  return decoding.items;
}

function readResourceItems<Item extends { warnings: string[] }>(decoding: Decoding<Item>, end: number): void {
  const { reader, items } = decoding;
  const resource = blankResource();
  const first = items.length;
  let warnings = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readResource(reader, reader.message(end), resource);
    else if (tag === 0x12) readScopeItems(decoding, reader.message(end), resource);
    else if (tag === 0x1a) resource.schemaUrl = reader.text(end);
    else reader.skip(tag, end);
    warnings |= reader.takeWarnings();
  }
  noteOnItems(items.slice(first), warnings);
}

function readResource(reader: DecodeReader, end: number, resource: Resource): void {
  let attributes = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readAttribute(reader, end, resource.attributes, attributes++);
    else if (tag === 0x10) resource.droppedAttributesCount = reader.uint32(end);
    else reader.skip(tag, end);
  }
  resource.droppedAttributesCount = plusDropped(
    resource.droppedAttributesCount,
    attributes,
    reader.limits.attributesMax,
  );
}

function readScopeItems<Item extends { warnings: string[] }>(
  decoding: Decoding<Item>,
  end: number,
  resource: Resource,
): void {
  const { reader, items } = decoding;
  const scope = blankScope();
  const first = items.length;
  let warnings = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readScope(reader, reader.message(end), scope);
    else if (tag === 0x12) addItem(decoding, end, resource, scope);
    else if (tag === 0x1a) scope.schemaUrl = reader.text(end);
    else reader.skip(tag, end);
    warnings |= reader.takeWarnings();
  }
  noteOnItems(items.slice(first), warnings);
}

function readScope(reader: DecodeReader, end: number, scope: Scope): void {
  let attributes = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) scope.name = reader.text(end);
    else if (tag === 0x12) scope.version = reader.text(end);
    else if (tag === 0x1a) readAttribute(reader, end, scope.attributes, attributes++);
    else if (tag === 0x20) scope.droppedAttributesCount = reader.uint32(end);
    else reader.skip(tag, end);
  }
  scope.droppedAttributesCount = plusDropped(scope.droppedAttributesCount, attributes, reader.limits.attributesMax);
}

/** Adds an item. After `itemsMax` accepted items the others are only validated. */
function addItem<Item>(decoding: Decoding<Item>, end: number, resource: Resource, scope: Scope): void {
  const { reader, readItem, items } = decoding;
  if (items.length >= decoding.itemsMax) reader.leaveOut(decoding.itemMessage, end);
  else {
    const item = readItem(reader, reader.message(end), resource, scope);
    if (item) items.push(item);
  }
}

import { blankResource, blankScope } from './blank.ts';
import { DecodeReader } from './decode-reader.ts';
import { readSpan } from './decode-span.ts';
import { plusDropped, readAttribute } from './decode-values.ts';
import type { OtlpLimits } from './limits.ts';
import { message } from './otlp-schema.ts';
import type { Resource, Scope, Span } from './span.ts';
import { noteOnSpans } from './warnings.ts';

/**
 * Decodes the spans that the scan accepts, in one pass.
 * @throws MalformedError on invalid protobuf data
 */
export function decodeProtobuf(bytes: Uint8Array, limits: OtlpLimits): Span[] {
  const reader = new DecodeReader(bytes, limits);
  const end = bytes.length;
  const spans: Span[] = [];
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readResourceSpans(reader, reader.message(end), spans);
    else reader.skip(tag, end);
  }
  return spans;
}

function readResourceSpans(reader: DecodeReader, end: number, spans: Span[]): void {
  const resource = blankResource();
  const first = spans.length;
  let warnings = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readResource(reader, reader.message(end), resource);
    else if (tag === 0x12) readScopeSpans(reader, reader.message(end), resource, spans);
    else if (tag === 0x1a) resource.schemaUrl = reader.text(end);
    else reader.skip(tag, end);
    warnings |= reader.takeWarnings();
  }
  noteOnSpans(spans.slice(first), warnings);
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

function readScopeSpans(reader: DecodeReader, end: number, resource: Resource, spans: Span[]): void {
  const scope = blankScope();
  const first = spans.length;
  let warnings = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x0a) readScope(reader, reader.message(end), scope);
    else if (tag === 0x12) addSpan(reader, end, resource, scope, spans);
    else if (tag === 0x1a) scope.schemaUrl = reader.text(end);
    else reader.skip(tag, end);
    warnings |= reader.takeWarnings();
  }
  noteOnSpans(spans.slice(first), warnings);
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

/** Adds a span. After `spansMax` accepted spans the others are only validated. */
function addSpan(reader: DecodeReader, end: number, resource: Resource, scope: Scope, spans: Span[]): void {
  if (spans.length >= reader.limits.spansMax) reader.leaveOut(message.span, end);
  else {
    const span = readSpan(reader, reader.message(end), resource, scope);
    if (span) spans.push(span);
  }
}

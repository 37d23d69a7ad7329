import { blankLink, blankSpan } from './blank.ts';
import type { DecodeReader } from './decode-reader.ts';
import { plusDropped, readAttribute } from './decode-values.ts';
import { message } from './otlp-schema.ts';
import { isLink } from './scan-protobuf.ts';
import type { Resource, Scope, Span, SpanEvent, SpanLink } from './span.ts';
import { emptyIdRanges, idFault, isZero, resetIdRanges } from './span-checks.ts';
import { hex8 } from './text.ts';
import { timeWarnings, warning, warningWords } from './warnings.ts';

const ids = emptyIdRanges();
const linkIds = emptyIdRanges();

/** Reads one span. Returns undefined for a span that the scan rejects because of its ids. */
export function readSpan(reader: DecodeReader, end: number, resource: Resource, scope: Scope): Span | undefined {
  const span = blankSpan(resource, scope);
  let attributes = 0;
  let events = 0;
  let links = 0;
  resetIdRanges(ids);
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x4a) readAttribute(reader, end, span.attributes, attributes++);
    else if (tag === 0x5a) readEvent(reader, end, span, events++);
    else if (tag === 0x6a) readLink(reader, end, span, links++);
    else readSpanField(reader, tag, end, span);
  }
  if (idFault(reader.bytes, ids)) {
    reader.takeWarnings();
    return undefined;
  }
  span.traceId = reader.traceIdAt(ids.traceStart);
  span.spanId = hex8(reader.bytes, ids.spanStart);
  if (!isZero(reader.bytes, ids.parentStart, ids.parentEnd)) span.parentSpanId = hex8(reader.bytes, ids.parentStart);
  const { limits } = reader;
  span.droppedAttributesCount = plusDropped(span.droppedAttributesCount, attributes, limits.attributesMax);
  span.droppedEventsCount = plusDropped(span.droppedEventsCount, events, limits.eventsMax);
  span.droppedLinksCount = plusDropped(span.droppedLinksCount, links, span.links.length);
  span.warnings = warningWords(reader.takeWarnings() | timeWarnings(span.startUnixNano, span.endUnixNano));
  return span;
}

function readSpanField(reader: DecodeReader, tag: number, end: number, span: Span): void {
  switch (tag) {
    case 0x0a:
      reader.traceIdRange(end, ids);
      return;
    case 0x12:
      reader.spanIdRange(end, ids);
      return;
    case 0x22:
      ids.parentEnd = reader.length(end);
      ids.parentStart = reader.pos;
      reader.pos = ids.parentEnd;
      return;
    case 0x1a:
      span.traceState = reader.text(end);
      return;
    case 0x2a:
      span.name = reader.text(end);
      return;
    case 0x30:
      span.kind = reader.int32(end);
      return;
    case 0x39:
      span.startUnixNano = reader.fixed64(end);
      return;
    case 0x41:
      span.endUnixNano = reader.fixed64(end);
      return;
    case 0x50:
      span.droppedAttributesCount = reader.uint32(end);
      return;
    case 0x60:
      span.droppedEventsCount = reader.uint32(end);
      return;
    case 0x70:
      span.droppedLinksCount = reader.uint32(end);
      return;
    case 0x7a:
      readStatus(reader, reader.message(end), span);
      return;
    case 0x85:
      span.flags = reader.fixed32(end);
      return;
    default:
      reader.skip(tag, end);
  }
}

function readStatus(reader: DecodeReader, end: number, span: Span): void {
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x12) span.statusMessage = reader.text(end);
    else if (tag === 0x18) span.statusCode = reader.int32(end);
    else reader.skip(tag, end);
  }
}

function readEvent(reader: DecodeReader, spanEnd: number, span: Span, count: number): void {
  if (count >= reader.limits.eventsMax) {
    reader.leaveOut(message.event, spanEnd);
    reader.warnings |= warning.eventsDropped;
    return;
  }
  const end = reader.message(spanEnd);
  const event: SpanEvent = { timeUnixNano: 0n, name: '', attributes: new Map(), droppedAttributesCount: 0 };
  let attributes = 0;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x09) event.timeUnixNano = reader.fixed64(end);
    else if (tag === 0x12) event.name = reader.text(end);
    else if (tag === 0x1a) readAttribute(reader, end, event.attributes, attributes++);
    else if (tag === 0x20) event.droppedAttributesCount = reader.uint32(end);
    else reader.skip(tag, end);
  }
  event.droppedAttributesCount = plusDropped(event.droppedAttributesCount, attributes, reader.limits.attributesMax);
  span.events.push(event);
}

function readLink(reader: DecodeReader, spanEnd: number, span: Span, count: number): void {
  if (count >= reader.limits.linksMax) {
    reader.leaveOut(message.link, spanEnd);
    reader.warnings |= warning.linksDropped;
    return;
  }
  const end = reader.message(spanEnd);
  const link: SpanLink = blankLink();
  let attributes = 0;
  resetIdRanges(linkIds);
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x22) readAttribute(reader, end, link.attributes, attributes++);
    else readLinkField(reader, tag, end, link);
  }
  if (!isLink(reader.bytes, linkIds)) {
    reader.warnings |= warning.invalidLink;
    return;
  }
  link.traceId = reader.traceIdAt(linkIds.traceStart);
  link.spanId = hex8(reader.bytes, linkIds.spanStart);
  link.droppedAttributesCount = plusDropped(link.droppedAttributesCount, attributes, reader.limits.attributesMax);
  span.links.push(link);
}

function readLinkField(reader: DecodeReader, tag: number, end: number, link: SpanLink): void {
  if (tag === 0x0a) reader.traceIdRange(end, linkIds);
  else if (tag === 0x12) reader.spanIdRange(end, linkIds);
  else if (tag === 0x1a) link.traceState = reader.text(end);
  else if (tag === 0x28) link.droppedAttributesCount = reader.uint32(end);
  else if (tag === 0x35) link.flags = reader.fixed32(end);
  else reader.skip(tag, end);
}

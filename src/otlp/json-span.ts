import { blankLink, blankSpan } from './blank.ts';
import {
  type EnumNames,
  isObject,
  type JsonContext,
  type JsonObject,
  plusDropped,
  readEnum,
  readHexId,
  readText,
  readTime,
  readUint32,
} from './json-fields.ts';
import { readAttributed } from './json-values.ts';
import type { ItemFault } from './rejections.ts';
import type { Resource, Scope, Span, SpanEvent, SpanLink } from './span.ts';
import { idRules, spanIdBytes, traceIdBytes } from './span-checks.ts';
import { timeWarnings, warning, warningWords } from './warnings.ts';

const kinds: EnumNames = {
  prefix: 'SPAN_KIND_',
  names: ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'],
};
const statusCodes: EnumNames = { prefix: 'STATUS_CODE_', names: ['UNSET', 'OK', 'ERROR'] };

/** Reads one OTLP/JSON span. Returns the fault if the span is rejected. */
export function readSpan(context: JsonContext, value: unknown, resource: Resource, scope: Scope): Span | ItemFault {
  const span = blankSpan(resource, scope);
  context.beginItem();
  if (isObject(value)) readFields(context, value, span);
  else context.refuse('a span must be an object', value);
  span.warnings = warningWords(context.warnings | timeWarnings(span.startUnixNano, span.endUnixNano));
  return context.endItem() ?? span;
}

function readFields(context: JsonContext, sent: JsonObject, span: Span): void {
  readIds(context, sent, span);
  span.traceState = readText(context, sent.traceState, 'traceState');
  span.flags = readUint32(context, sent.flags, 'flags');
  span.name = readText(context, sent.name, 'name');
  span.kind = readEnum(context, sent.kind, 'kind', kinds);
  span.startUnixNano = readTime(context, sent.startTimeUnixNano, 'startTimeUnixNano');
  span.endUnixNano = readTime(context, sent.endTimeUnixNano, 'endTimeUnixNano');
  const { attributes, droppedAttributesCount } = readAttributed(context, sent);
  span.attributes = attributes;
  span.droppedAttributesCount = droppedAttributesCount;
  readEvents(context, sent, span);
  readLinks(context, sent, span);
  readStatus(context, sent.status, span);
}

/**
 * Reads and validates the ids, which are hex of any case. A parent id that is empty or all zero
 * means a root span.
 */
function readIds(context: JsonContext, sent: JsonObject, span: Span): void {
  span.traceId = readHexId(sent.traceId, traceIdBytes) ?? '';
  span.spanId = readHexId(sent.spanId, spanIdBytes) ?? '';
  if (span.traceId === '') context.refuse(idRules.traceId, sent.traceId ?? 'absent');
  if (span.spanId === '') context.refuse(idRules.spanId, sent.spanId ?? 'absent');
  const parent = sent.parentSpanId ?? '';
  if (typeof parent === 'string' && /^0*$/.test(parent)) return;
  span.parentSpanId = readHexId(parent, spanIdBytes) ?? '';
  if (span.parentSpanId === '') context.refuse(idRules.parentSpanId, parent);
}

function readEvents(context: JsonContext, sent: JsonObject, span: Span): void {
  const { eventsMax } = context.limits;
  const events = list(context, sent.events, 'events');
  span.events = events.slice(0, eventsMax).map((event) => readEvent(context, event));
  span.droppedEventsCount = plusDropped(
    context,
    sent.droppedEventsCount,
    'droppedEventsCount',
    events.length - span.events.length,
  );
  if (events.length > eventsMax) context.warnings |= warning.eventsDropped;
}

function readEvent(context: JsonContext, value: unknown): SpanEvent {
  const sent = object(context, value, 'an event');
  return {
    timeUnixNano: readTime(context, sent.timeUnixNano, 'events.timeUnixNano'),
    name: readText(context, sent.name, 'events.name'),
    ...readAttributed(context, sent),
  };
}

function readLinks(context: JsonContext, sent: JsonObject, span: Span): void {
  const { linksMax } = context.limits;
  const links = list(context, sent.links, 'links');
  span.links = links.slice(0, linksMax).flatMap((link) => readLink(context, link) ?? []);
  span.droppedLinksCount = plusDropped(
    context,
    sent.droppedLinksCount,
    'droppedLinksCount',
    links.length - span.links.length,
  );
  if (links.length > linksMax) context.warnings |= warning.linksDropped;
}

function readLink(context: JsonContext, value: unknown): SpanLink | undefined {
  const sent = object(context, value, 'a link');
  const traceId = readHexId(sent.traceId, traceIdBytes);
  const spanId = readHexId(sent.spanId, spanIdBytes);
  const link: SpanLink = {
    ...blankLink(),
    traceState: readText(context, sent.traceState, 'links.traceState'),
    flags: readUint32(context, sent.flags, 'links.flags'),
    ...readAttributed(context, sent),
  };
  if (traceId !== undefined && spanId !== undefined) return { ...link, traceId, spanId };
  context.warnings |= warning.invalidLink;
  return undefined;
}

function readStatus(context: JsonContext, value: unknown, span: Span): void {
  if (value === undefined || value === null) return;
  const sent = object(context, value, 'status');
  span.statusCode = readEnum(context, sent.code, 'status.code', statusCodes);
  span.statusMessage = readText(context, sent.message, 'status.message');
}

function list(context: JsonContext, value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  context.refuse(`${field} must be an array`, value);
  return [];
}

function object(context: JsonContext, value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  context.refuse(`${what} must be an object`, value);
  return {};
}

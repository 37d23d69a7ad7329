import type { AnyValue } from '../../src/otlp/span.ts';
import { ExportLogsServiceRequest, ExportTraceServiceRequest } from './otlp-proto.ts';

/** Attributes as in `Span`: an integer is a bigint, a number is a double. */
export type AttributesInput = ReadonlyMap<string, AnyValue> | Readonly<Record<string, AnyValue>>;

interface AttributedInput {
  attributes?: AttributesInput;
  droppedAttributesCount?: number;
}

export interface EventInput extends AttributedInput {
  timeUnixNano?: bigint;
  name?: string;
}

export interface LinkInput extends AttributedInput {
  traceId: string;
  spanId: string;
  traceState?: string;
  flags?: number;
}

/** Ids are hex and may have any length. */
export interface SpanInput extends AttributedInput {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  flags?: number;
  name?: string;
  kind?: number;
  startUnixNano?: bigint;
  endUnixNano?: bigint;
  events?: readonly EventInput[];
  droppedEventsCount?: number;
  links?: readonly LinkInput[];
  droppedLinksCount?: number;
  statusCode?: number;
  statusMessage?: string;
}

/** Ids are hex and may have any length. */
export interface LogRecordInput extends AttributedInput {
  traceId?: string;
  spanId?: string;
  timeUnixNano?: bigint;
  observedUnixNano?: bigint;
  severityNumber?: number;
  severityText?: string;
  body?: AnyValue;
  flags?: number;
  eventName?: string;
}

interface ScopedInput {
  scope?: AttributedInput & { name?: string; version?: string };
  schemaUrl?: string;
}

export interface ScopeSpansInput extends ScopedInput {
  spans: readonly SpanInput[];
}

export interface ScopeLogsInput extends ScopedInput {
  logRecords: readonly LogRecordInput[];
}

interface ResourcedInput {
  resource?: AttributedInput;
  schemaUrl?: string;
}

export interface ResourceSpansInput extends ResourcedInput {
  scopeSpans: readonly ScopeSpansInput[];
}

export interface ResourceLogsInput extends ResourcedInput {
  scopeLogs: readonly ScopeLogsInput[];
}

/** The differences between the two encodings for values that are not plain JSON. */
interface Notation {
  id(hex: string): unknown;
  bytes(value: Uint8Array): unknown;
  double(value: number): unknown;
}

const protobufNotation: Notation = {
  id: (hex) => Buffer.from(hex, 'hex'),
  bytes: (value) => value,
  double: (value) => value,
};

const jsonNotation: Notation = {
  id: (hex) => hex,
  bytes: (value) => Buffer.from(value).toString('base64'),
  double: (value) => (Object.is(value, -0) ? '-0' : Number.isFinite(value) ? value : String(value)),
};

/** Returns the body of an exporter. Absent members stay absent. Lone surrogates are not supported. */
export function encodeTraces(encoding: 'protobuf' | 'json', resourceSpans: readonly ResourceSpansInput[]): Buffer {
  const notation = encoding === 'json' ? jsonNotation : protobufNotation;
  const request = {
    resourceSpans: resourceSpans.map(({ scopeSpans, ...group }) => ({
      ...resourced(group, notation),
      scopeSpans: scopeSpans.map(({ spans, ...inner }) => ({
        ...scoped(inner, notation),
        spans: spans.map((span) => toSpan(span, notation)),
      })),
    })),
  };
  if (encoding === 'json') return Buffer.from(JSON.stringify(request));
  return Buffer.from(ExportTraceServiceRequest.encode(ExportTraceServiceRequest.fromObject(request)).finish());
}

/** Puts `spans` into one resource and one scope. */
export function encodeSpans(encoding: 'protobuf' | 'json', spans: readonly SpanInput[]): Buffer {
  return encodeTraces(encoding, [{ scopeSpans: [{ spans }] }]);
}

/** Returns the body of an exporter of logs, as `encodeTraces` that of spans. */
export function encodeLogs(encoding: 'protobuf' | 'json', resourceLogs: readonly ResourceLogsInput[]): Buffer {
  const notation = encoding === 'json' ? jsonNotation : protobufNotation;
  const request = {
    resourceLogs: resourceLogs.map(({ scopeLogs, ...group }) => ({
      ...resourced(group, notation),
      scopeLogs: scopeLogs.map(({ logRecords, ...inner }) => ({
        ...scoped(inner, notation),
        logRecords: logRecords.map((record) => toLogRecord(record, notation)),
      })),
    })),
  };
  if (encoding === 'json') return Buffer.from(JSON.stringify(request));
  return Buffer.from(ExportLogsServiceRequest.encode(ExportLogsServiceRequest.fromObject(request)).finish());
}

/** Puts `logRecords` into one resource and one scope. */
export function encodeLogRecords(encoding: 'protobuf' | 'json', logRecords: readonly LogRecordInput[]): Buffer {
  return encodeLogs(encoding, [{ scopeLogs: [{ logRecords }] }]);
}

function resourced({ resource, schemaUrl }: ResourcedInput, notation: Notation) {
  return { resource: resource && attributed(resource, notation), schemaUrl };
}

function scoped({ scope, schemaUrl }: ScopedInput, notation: Notation) {
  return { scope: scope && attributed(scope, notation), schemaUrl };
}

function toLogRecord(record: LogRecordInput, notation: Notation) {
  const { timeUnixNano, observedUnixNano, ...rest } = record;
  return {
    ...attributed(rest, notation),
    traceId: record.traceId === undefined ? undefined : notation.id(record.traceId),
    spanId: record.spanId === undefined ? undefined : notation.id(record.spanId),
    timeUnixNano: timeUnixNano?.toString(),
    observedTimeUnixNano: observedUnixNano?.toString(),
    body: record.body === undefined ? undefined : anyValue(record.body, notation),
  };
}

function toSpan(span: SpanInput, notation: Notation) {
  const { startUnixNano, endUnixNano, statusCode, statusMessage, events, links, ...rest } = span;
  return {
    ...attributed(rest, notation),
    traceId: notation.id(span.traceId),
    spanId: notation.id(span.spanId),
    parentSpanId: span.parentSpanId === undefined ? undefined : notation.id(span.parentSpanId),
    startTimeUnixNano: startUnixNano?.toString(),
    endTimeUnixNano: endUnixNano?.toString(),
    events: events?.map((event) => ({
      ...attributed(event, notation),
      timeUnixNano: event.timeUnixNano?.toString(),
    })),
    links: links?.map((link) => ({
      ...attributed(link, notation),
      traceId: notation.id(link.traceId),
      spanId: notation.id(link.spanId),
    })),
    status:
      statusCode === undefined && statusMessage === undefined
        ? undefined
        : { code: statusCode, message: statusMessage },
  };
}

function attributed<T extends AttributedInput>(input: T, notation: Notation) {
  return { ...input, attributes: input.attributes && keyValues(input.attributes, notation) };
}

function keyValues(attributes: AttributesInput, notation: Notation): unknown[] {
  const entries = attributes instanceof Map ? [...attributes] : Object.entries(attributes);
  return entries.map(([key, value]) => ({ key, value: anyValue(value, notation) }));
}

function anyValue(value: AnyValue, notation: Notation): unknown {
  if (value === null) return {};
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'bigint') return { intValue: value.toString() };
  if (typeof value === 'number') return { doubleValue: notation.double(value) };
  if (value instanceof Uint8Array) return { bytesValue: notation.bytes(value) };
  if (Array.isArray(value)) return { arrayValue: { values: value.map((element) => anyValue(element, notation)) } };
  return { kvlistValue: { values: keyValues(value, notation) } };
}

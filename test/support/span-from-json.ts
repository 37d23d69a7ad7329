import type { AnyValue, Attributes, Resource, Scope, Span, SpanEvent } from '../../src/otlp/span.ts';

/** An OTLP/JSON document in the format of `decoded.json` of the captures. */
export interface TracesJson {
  resourceSpans?: {
    resource?: { attributes?: KeyValueJson[] };
    scopeSpans?: { scope?: { name?: string; version?: string }; spans?: SpanJson[] }[];
  }[];
}

export interface ValueJson {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string | number;
  doubleValue?: number;
  arrayValue?: { values?: ValueJson[] };
  kvlistValue?: { values?: KeyValueJson[] };
}

export interface KeyValueJson {
  key: string;
  value?: ValueJson;
}

interface SpanJson {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name?: string;
  kind?: number;
  startTimeUnixNano?: string;
  endTimeUnixNano?: string;
  attributes?: KeyValueJson[];
  events?: { name?: string; timeUnixNano?: string; attributes?: KeyValueJson[] }[];
  status?: { code?: number; message?: string };
}

/**
 * Converts the spans of an independent decoder to those of our decoder. Only the values that
 * normalizing reads are converted.
 */
export function spansFromJson(json: TracesJson): Span[] {
  return (json.resourceSpans ?? []).flatMap((group) => {
    const resource = resourceOf(group.resource?.attributes);
    return (group.scopeSpans ?? []).flatMap(({ scope, spans }) => {
      const shared = scopeOf(scope?.name, scope?.version);
      return (spans ?? []).map((span) => ({ ...buildSpan(fromJson(span)), resource, scope: shared }));
    });
  });
}

/** Returns a span with only the given values. Its ids and times are fixed. */
export function buildSpan(given: Partial<Span> = {}): Span {
  return {
    resource: resourceOf([]),
    scope: scopeOf('', ''),
    traceId: '0123456789abcdef0123456789abcdef',
    spanId: '0123456789abcdef',
    parentSpanId: '',
    traceState: '',
    flags: 0,
    name: 'span',
    kind: 1,
    startUnixNano: 1_795_218_500_000_000_000n,
    endUnixNano: 1_795_218_501_000_000_000n,
    attributes: new Map(),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    links: [],
    droppedLinksCount: 0,
    statusCode: 0,
    statusMessage: '',
    warnings: [],
    ...given,
  };
}

export function buildEvent(name: string, attributes: Record<string, AnyValue> = {}, timeUnixNano = 0n): SpanEvent {
  return { name, timeUnixNano, attributes: new Map(Object.entries(attributes)), droppedAttributesCount: 0 };
}

export function resourceWith(attributes: Record<string, AnyValue>): Resource {
  return { attributes: new Map(Object.entries(attributes)), droppedAttributesCount: 0, schemaUrl: '' };
}

export function scopeOf(name = '', version = ''): Scope {
  return { name, version, attributes: new Map(), droppedAttributesCount: 0, schemaUrl: '' };
}

function fromJson(span: SpanJson): Partial<Span> {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name ?? '',
    kind: span.kind ?? 0,
    startUnixNano: BigInt(span.startTimeUnixNano ?? 0),
    endUnixNano: BigInt(span.endTimeUnixNano ?? 0),
    attributes: attributesOf(span.attributes),
    events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
      name: name ?? '',
      timeUnixNano: BigInt(timeUnixNano ?? 0),
      attributes: attributesOf(attributes),
      droppedAttributesCount: 0,
    })),
    statusCode: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? '',
  };
}

export function resourceOf(attributes: KeyValueJson[] | undefined): Resource {
  return { attributes: attributesOf(attributes), droppedAttributesCount: 0, schemaUrl: '' };
}

export function attributesOf(list: KeyValueJson[] = []): Attributes {
  return new Map(list.map(({ key, value }) => [key, anyValueOf(value)]));
}

export function anyValueOf(value: ValueJson = {}): AnyValue {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.intValue !== undefined) return BigInt(value.intValue);
  if (value.doubleValue !== undefined) return value.doubleValue;
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(anyValueOf);
  return value.kvlistValue === undefined ? null : attributesOf(value.kvlistValue.values);
}

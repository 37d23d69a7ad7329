import { anyValueFromJson, attributesFromStored } from '../../otlp/any-value-json.ts';
import { blankLink, blankResource, blankScope } from '../../otlp/blank.ts';
import type { AnyValue, Attributes, Resource, Scope, Span, SpanEvent, SpanLink } from '../../otlp/span.ts';
import { isDecodeWarning } from '../../otlp/warnings.ts';
import { pick, plain, type RowOf, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { promptMention } from '../prompt-links/index.ts';
import type { NormalizedSpan } from './normalized-span.ts';
import { spanFields } from './span-fields.ts';
import type { SpanCost, SpanRow } from './span-row.ts';
import { typeAttributes } from './typed-attributes.ts';

/**
 * Attributes of one type, as two lists: a JSON object would put keys that look like numbers first.
 */
type Stored<Value> = [keys: string[], values: Value[]];
const attributesOf = <Value>(type: string) =>
  plain<Stored<Value>>(`tuple(mapKeys(attributes_${type}), mapValues(attributes_${type}))`);

/** The values as sent, and the values that a new normalization must keep. */
export const storedSpan = rowReader({
  ...pick(spanFields, [
    ...(['projectId', 'traceId', 'spanId', 'receivedAtMs', 'retentionDays', 'parentSpanId'] as const),
    ...(['startUnixNano', 'endUnixNano', 'spanName', 'otelKind', 'statusCode', 'statusMessage'] as const),
    ...(['traceState', 'flags', 'warnings'] as const),
    ...(['droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount'] as const),
    ...(['costNanoUsd', 'costSource', 'priceVersion', 'prompt'] as const),
  ]),
  attributesString: attributesOf<string>('string'),
  attributesInt: attributesOf<string>('int'),
  attributesDouble: attributesOf<number | string>('double'),
  attributesBool: attributesOf<boolean>('bool'),
  attributesOther: attributesOf<string>('other'),
  resource: plain<string>('resource'),
  scope: plain<string>('scope'),
  events: plain<string>('events'),
  links: plain<string>('links'),
});

export type StoredSpan = RowOf<typeof storedSpan>;

/**
 * Rebuilds the span as it was decoded, with its types. Only the order of attributes of different
 * types is lost.
 * @throws MalformedError when stored JSON cannot be read
 */
export function rebuildSpan(stored: StoredSpan): Span {
  return {
    resource: shared(resources, stored.resource, readResource),
    scope: shared(scopes, stored.scope, readScope),
    traceId: stored.traceId,
    spanId: stored.spanId,
    parentSpanId: stored.parentSpanId,
    traceState: stored.traceState,
    flags: stored.flags,
    name: stored.spanName,
    kind: stored.otelKind,
    startUnixNano: stored.startUnixNano,
    endUnixNano: stored.endUnixNano,
    attributes: readAttributes(stored),
    droppedAttributesCount: stored.droppedAttributesCount,
    events: listFrom(stored.events).map(readEvent),
    droppedEventsCount: stored.droppedEventsCount,
    links: listFrom(stored.links).map(readLink),
    droppedLinksCount: stored.droppedLinksCount,
    statusCode: stored.statusCode,
    statusMessage: stored.statusMessage,
    warnings: stored.warnings.filter(isDecodeWarning),
  };
}

/**
 * Returns the row again. Its ids and its time of receipt stay, so a span that was received later
 * still replaces it.
 */
export function rebuiltRow(stored: StoredSpan, span: Span, normalized: NormalizedSpan, cost: SpanCost): SpanRow {
  return {
    projectId: stored.projectId,
    receivedAtMs: stored.receivedAtMs,
    retentionDays: stored.retentionDays,
    span,
    attributes: typeAttributes(span.attributes),
    normalized,
    // A link is kept, even to a prompt that was deleted since. Without a link the prompt is read again.
    prompt: stored.prompt?.id ? stored.prompt : promptMention(normalized.promptRef),
    cost,
  };
}

/** Returns the cost that is stored with a span. */
export function storedCost({ costNanoUsd, costSource, priceVersion }: StoredSpan): SpanCost {
  return { nanoUsd: costNanoUsd, source: costSource, priceVersion };
}

/** ClickHouse's names for numbers that JSON cannot express. */
const denormals: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  '-nan': Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
};

function readAttributes(stored: StoredSpan): Attributes {
  const attributes: Attributes = new Map();
  const put = <T>([keys, values]: Stored<T>, read: (value: T) => AnyValue) => {
    for (const [index, value] of values.entries()) attributes.set(keys[index] ?? '', read(value));
  };
  put(stored.attributesString, (value) => value);
  put(stored.attributesInt, BigInt);
  put(stored.attributesDouble, toDouble);
  put(stored.attributesBool, (value) => value);
  put(stored.attributesOther, anyValueFromJson);
  return attributes;
}

function toDouble(value: number | string): number {
  return typeof value === 'number' ? value : (denormals[value] ?? Number(value));
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Many spans share few resources and scopes. As separate objects each would be written out again.
 */
const sharedMax = 1_000;
const resources = new Map<string, Resource>();
const scopes = new Map<string, Scope>();

function shared<T>(known: Map<string, T>, json: string, read: (json: Json) => T): T {
  const found = known.get(json);
  if (found !== undefined) return found;
  if (known.size >= sharedMax) known.clear();
  const made = read(json === '' ? {} : JSON.parse(json));
  known.set(json, made);
  return made;
}

function readResource(json: Json): Resource {
  return { ...blankResource(), ...attributed(json), schemaUrl: text(json.schemaUrl) };
}

function readScope(json: Json): Scope {
  const { name, version, schemaUrl } = json;
  return { ...blankScope(), ...attributed(json), name: text(name), version: text(version), schemaUrl: text(schemaUrl) };
}

function readEvent(json: Json): SpanEvent {
  return { timeUnixNano: BigInt(text(json.timeUnixNano) || 0), name: text(json.name), ...attributed(json) };
}

function readLink(json: Json): SpanLink {
  const { traceId, spanId, traceState, flags } = json;
  const ids = { traceId: text(traceId), spanId: text(spanId), traceState: text(traceState) };
  return { ...blankLink(), ...ids, ...attributed(json), flags: Number(flags ?? 0) };
}

function attributed(json: Json): { attributes: Attributes; droppedAttributesCount: number } {
  return {
    attributes: attributesFromStored(json.attributes),
    droppedAttributesCount: Number(json.droppedAttributesCount ?? 0),
  };
}

function listFrom(json: string): readonly Json[] {
  return json === '' ? [] : JSON.parse(json);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

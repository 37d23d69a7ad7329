import { anyValueFromJson } from '../../otlp/any-value-json.ts';
import { blankLink } from '../../otlp/blank.ts';
import { attributedFromJson, resourceFromJson, scopeFromJson, textOf } from '../../otlp/origin-json.ts';
import type { AnyValue, Attributes, Span, SpanEvent, SpanLink } from '../../otlp/span.ts';
import { isDecodeWarning } from '../../otlp/warnings.ts';
import { pick, plain, type RowOf, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { promptMention } from '../prompt-links/index.ts';
import { spanFields, stringAttributes } from './span-fields.ts';
import type { SpanCost, SpanRow } from './span-row.ts';
import { typeAttributes } from './typed-attributes.ts';

/**
 * Attributes of one type, as two lists: a JSON object would put keys that look like numbers first.
 */
type Stored<Value> = [keys: string[], values: Value[]];
const attributesOf = <Value>(map: string) => plain<Stored<Value>>(`tuple(mapKeys(${map}), mapValues(${map}))`);

/** The values as sent, and the values that a new normalization must keep. */
export const storedSpan = rowReader({
  ...pick(spanFields, [
    ...(['projectId', 'traceId', 'spanId', 'receivedAtMs', 'retentionDays', 'parentSpanId'] as const),
    ...(['startUnixNano', 'endUnixNano', 'spanName', 'otelKind', 'statusCode', 'statusMessage'] as const),
    ...(['traceState', 'flags', 'warnings', 'logRecords'] as const),
    ...(['droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount'] as const),
    ...(['costNanoUsd', 'costSource', 'priceVersion', 'prompt'] as const),
  ]),
  attributesString: attributesOf<string>(stringAttributes),
  attributesInt: attributesOf<string>('attributes_int'),
  attributesDouble: attributesOf<number | string>('attributes_double'),
  attributesBool: attributesOf<boolean>('attributes_bool'),
  attributesOther: attributesOf<string>('attributes_other'),
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
    resource: resourceFromJson(stored.resource),
    scope: scopeFromJson(stored.scope),
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
export function rebuiltRow(
  stored: StoredSpan,
  span: Span,
  { normalized, cost, logs }: Pick<SpanRow, 'normalized' | 'cost' | 'logs'>,
): SpanRow {
  return {
    projectId: stored.projectId,
    receivedAtMs: stored.receivedAtMs,
    retentionDays: stored.retentionDays,
    span,
    attributes: typeAttributes(span.attributes, normalized),
    normalized,
    // A link is kept, even to a prompt that was deleted since. Without a link the prompt is read again.
    prompt: stored.prompt?.id ? stored.prompt : promptMention(normalized.promptRef),
    cost,
    logs,
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

function readEvent(json: Json): SpanEvent {
  return { timeUnixNano: BigInt(textOf(json.timeUnixNano) || 0), name: textOf(json.name), ...attributedFromJson(json) };
}

function readLink(json: Json): SpanLink {
  const { traceId, spanId, traceState, flags } = json;
  const ids = { traceId: textOf(traceId), spanId: textOf(spanId), traceState: textOf(traceState) };
  return { ...blankLink(), ...ids, ...attributedFromJson(json), flags: Number(flags ?? 0) };
}

function listFrom(json: string): readonly Json[] {
  return json === '' ? [] : JSON.parse(json);
}

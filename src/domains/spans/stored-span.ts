import { anyValueFromJson, attributesFromStored } from '../../otlp/any-value-json.ts';
import { blankLink, blankResource, blankScope } from '../../otlp/blank.ts';
import type { AnyValue, Attributes, Resource, Scope, Span, SpanEvent, SpanLink } from '../../otlp/span.ts';
import { isDecodeWarning } from '../../otlp/warnings.ts';
import { promptMention } from '../prompt-links/index.ts';
import type { NormalizedSpan } from './normalized-span.ts';
import type { SpanCost, SpanRow } from './span-row.ts';
import { typeAttributes } from './typed-attributes.ts';

/**
 * A row of `spans` as `storedSpanColumns` select it: what was sent, and what a new normalization
 * must keep.
 */
export interface StoredSpan {
  project_id: string;
  trace_id: string;
  span_id: string;
  received_at_ms: string;
  retention_days: number;
  parent_span_id: string;
  start_unix_nano: string;
  end_unix_nano: string;
  span_name: string;
  otel_kind: number;
  status_code: number;
  status_message: string;
  trace_state: string;
  flags: number;
  string_keys: string[];
  string_values: string[];
  int_keys: string[];
  int_values: string[];
  double_keys: string[];
  double_values: (number | string)[];
  bool_keys: string[];
  bool_values: boolean[];
  other_keys: string[];
  other_values: string[];
  resource: string;
  scope: string;
  events: string;
  links: string;
  dropped_attributes_count: number;
  dropped_events_count: number;
  dropped_links_count: number;
  cost_nano_usd: string;
  cost_source: SpanCost['source'];
  price_version: string;
  prompt_id: string;
  prompt_name: string;
  prompt_version: number;
  prompt_raw_version: string;
  prompt_source: string;
  prompt_key: string;
  warnings: string[];
}

const typed = ['string', 'int', 'double', 'bool', 'other'] as const;

/**
 * Columns of a {@link StoredSpan}. Maps are read as two lists, because a JSON object would put keys
 * that look like numbers first.
 */
export const storedSpanColumns: readonly string[] = [
  'project_id',
  'lower(hex(spans.trace_id)) AS trace_id',
  'lower(hex(spans.span_id)) AS span_id',
  'toUnixTimestamp64Milli(received_at) AS received_at_ms',
  'retention_days',
  "if(spans.parent_span_id = unhex('0000000000000000'), '', lower(hex(spans.parent_span_id))) AS parent_span_id",
  ...['start_unix_nano', 'end_unix_nano', 'span_name', 'otel_kind', 'status_code', 'status_message', 'trace_state'],
  'flags',
  ...typed.flatMap((type) => [
    `mapKeys(attributes_${type}) AS ${type}_keys`,
    `mapValues(attributes_${type}) AS ${type}_values`,
  ]),
  ...['resource', 'scope', 'events', 'links'],
  ...['dropped_attributes_count', 'dropped_events_count', 'dropped_links_count'],
  ...['cost_nano_usd', 'cost_source', 'price_version', 'warnings'],
  ...['prompt_id', 'prompt_name', 'prompt_version', 'prompt_raw_version', 'prompt_source', 'prompt_key'],
];

/**
 * Rebuilds the span as it was decoded, with its types. Only the order of attributes of different
 * types is lost.
 * @throws MalformedError when stored JSON cannot be read
 */
export function rebuildSpan(stored: StoredSpan): Span {
  return {
    resource: shared(resources, stored.resource, readResource),
    scope: shared(scopes, stored.scope, readScope),
    traceId: stored.trace_id,
    spanId: stored.span_id,
    parentSpanId: stored.parent_span_id,
    traceState: stored.trace_state,
    flags: stored.flags,
    name: stored.span_name,
    kind: stored.otel_kind,
    startUnixNano: BigInt(stored.start_unix_nano),
    endUnixNano: BigInt(stored.end_unix_nano),
    attributes: readAttributes(stored),
    droppedAttributesCount: stored.dropped_attributes_count,
    events: listFrom(stored.events).map(readEvent),
    droppedEventsCount: stored.dropped_events_count,
    links: listFrom(stored.links).map(readLink),
    droppedLinksCount: stored.dropped_links_count,
    statusCode: stored.status_code,
    statusMessage: stored.status_message,
    warnings: stored.warnings.filter(isDecodeWarning),
  };
}

/**
 * Returns the row again. Its ids and its time of receipt stay, so a span that was received later
 * still replaces it.
 */
export function rebuiltRow(stored: StoredSpan, span: Span, normalized: NormalizedSpan, cost: SpanCost): SpanRow {
  return {
    projectId: stored.project_id,
    receivedAtMs: Number(stored.received_at_ms),
    retentionDays: stored.retention_days,
    span,
    attributes: typeAttributes(span.attributes),
    normalized,
    prompt: keptPrompt(stored, normalized),
    cost,
  };
}

/**
 * Keeps a link, even to a prompt that was deleted since. Without a link the prompt is read again.
 */
function keptPrompt(stored: StoredSpan, normalized: NormalizedSpan): SpanRow['prompt'] {
  if (stored.prompt_id === '') return promptMention(normalized.promptRef);
  return {
    id: stored.prompt_id,
    name: stored.prompt_name,
    version: stored.prompt_version,
    rawVersion: stored.prompt_raw_version,
    source: stored.prompt_source,
    key: stored.prompt_key,
  };
}

/** Returns the cost that is stored with a span. */
export function storedCost({ cost_source, cost_nano_usd, price_version }: StoredSpan): SpanCost {
  const nanoUsd = cost_source === 'none' ? null : BigInt(cost_nano_usd);
  return { nanoUsd, source: cost_source, priceVersion: price_version };
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
  const put = <T>(keys: readonly string[], values: readonly T[], read: (value: T) => AnyValue) => {
    for (const [index, value] of values.entries()) attributes.set(keys[index] ?? '', read(value));
  };
  put(stored.string_keys, stored.string_values, (value) => value);
  put(stored.int_keys, stored.int_values, BigInt);
  put(stored.double_keys, stored.double_values, toDouble);
  put(stored.bool_keys, stored.bool_values, (value) => value);
  put(stored.other_keys, stored.other_values, anyValueFromJson);
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

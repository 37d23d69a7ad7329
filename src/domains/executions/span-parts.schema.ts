import { countJsonValues } from '../../lib/count-json-values.ts';
import { longKeyMin, textKey } from '../../lib/text-key.ts';
import { isoFromUnixNano } from '../../lib/time.ts';
import type { SpanDetail, SpanPart } from '../spans/reads.ts';
import {
  asArray,
  asRecord,
  type Plain,
  plainFromAnyValue,
  plainFromInt,
  plainFromKeyValues,
  typeOfAnyValue,
} from './any-value-plain.ts';
import { isStructure } from './large-parts.ts';

type Wire = Record<string, unknown>;

/** Converts the stored JSON of a resource or scope to its API JSON text. */
export type PartOwners = (json: string) => string;

/**
 * How each span part of a row becomes API JSON text. A part that the row does not have is empty.
 */
const texts = {
  input: ({ input = '' }) => contentText(input),
  output: ({ output = '' }) => contentText(output),
  attributes: (row) => attributesText(row).attributes,
  events: ({ events = '' }) => JSON.stringify(listOf(events).map(eventToWire)),
  links: ({ links = '' }) => JSON.stringify(listOf(links).map(linkToWire)),
  resource: ({ resource = '{}' }, owners) => owners(resource),
  scope: ({ scope = '{}' }, owners) => owners(scope),
} as const satisfies Record<SpanPart, (row: SpanDetail, owners: PartOwners) => string>;

/** Returns one span part of a row as API JSON text. */
export function partText(row: SpanDetail, part: SpanPart, owners: PartOwners): string {
  return texts[part](row, owners);
}

/** Returns the attributes and the `attribute_types` of a row, each as JSON text. */
export function attributesText(row: SpanDetail): { attributes: string; types: string } {
  const { attributes, types } = attributesToWire(row);
  return { attributes: JSON.stringify(attributes), types: JSON.stringify(types) };
}

/**
 * Returns a converter for resources and scopes. The spans of a trace share few of them, so each one
 * is converted once.
 */
export function ownerReader(): PartOwners {
  const known = new Map<string, string>();
  return (json) => {
    const key = textKey(json);
    const owner = known.get(key) ?? JSON.stringify(ownerToWire(json));
    known.set(key, owner);
    return owner;
  };
}

/**
 * Returns an input or output as API JSON text: a stored JSON object or list as it is, so that numbers
 * beyond 2^53 keep their digits, and other text as a string.
 */
function contentText(stored: string): string {
  const parsed = parseJsonText(stored);
  return typeof parsed === 'object' && parsed !== null ? stored : JSON.stringify(parsed);
}

/** Of any size and depth, but without very long names. */
const anyJson = { valuesMax: Number.POSITIVE_INFINITY, depthMax: Number.POSITIVE_INFINITY };

/**
 * Parses a stored text that is a JSON object or list. Returns other text unchanged, also JSON with a name of
 * `longKeyMin` characters or more, and null for ''.
 */
export function parseJsonText(text: string): unknown {
  if (text === '') return null;
  if (!isStructure(text)) return text;
  if (text.length >= longKeyMin && countJsonValues(text, anyJson) === Number.POSITIVE_INFINITY) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Doubles that JSON has no number for: ClickHouse's names to the OTLP/JSON names, which nested
 * values already have.
 */
const specialDoubles: Readonly<Record<string, string>> = { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' };

/** The columns of attributes, by the type of their values. */
export type AttributeColumns = Pick<
  SpanDetail,
  'attributesString' | 'attributesInt' | 'attributesDouble' | 'attributesBool' | 'attributesOther'
>;

/** Returns attributes as JSON values, and the types that JSON does not tell. */
export function attributesToWire(row: AttributeColumns): { attributes: Wire; types: Record<string, string> } {
  const values: Record<string, Plain> = Object.create(null);
  const typeNames: Record<string, string> = Object.create(null);
  Object.assign(values, row.attributesString, row.attributesBool);
  for (const [key, decimal] of Object.entries(row.attributesInt ?? {})) {
    values[key] = plainFromInt(decimal);
    typeNames[key] = 'int';
  }
  for (const [key, value] of Object.entries(row.attributesDouble ?? {})) {
    values[key] = typeof value === 'string' ? (specialDoubles[value] ?? value) : value;
    typeNames[key] = 'double';
  }
  for (const [key, json] of Object.entries(row.attributesOther ?? {})) {
    const value: unknown = JSON.parse(json);
    values[key] = plainFromAnyValue(value);
    typeNames[key] = typeOfAnyValue(value);
  }
  return { attributes: values, types: typeNames };
}

function eventToWire(event: unknown): Wire {
  const { timeUnixNano, name, droppedAttributesCount } = asRecord(event);
  const nano = BigInt(String(timeUnixNano ?? 0));
  return {
    name: name ?? '',
    time: isoFromUnixNano(nano),
    time_unix_nano: nano.toString(),
    attributes: plainFromKeyValues(asRecord(event).attributes),
    dropped_attributes_count: droppedAttributesCount ?? 0,
  };
}

function linkToWire(link: unknown): Wire {
  const { traceId, spanId, traceState, flags, attributes: list, droppedAttributesCount } = asRecord(link);
  return {
    trace_id: traceId,
    span_id: spanId,
    trace_state: traceState ?? null,
    flags,
    attributes: plainFromKeyValues(list),
    dropped_attributes_count: droppedAttributesCount ?? 0,
  };
}

function ownerToWire(json: string): Wire {
  const { name, version, attributes: list, droppedAttributesCount, schemaUrl } = asRecord(JSON.parse(json));
  return {
    ...(name === undefined ? {} : { name, version: version ?? null }),
    attributes: plainFromKeyValues(list),
    dropped_attributes_count: droppedAttributesCount ?? 0,
    schema_url: schemaUrl ?? null,
  };
}

function listOf(json: string): unknown[] {
  return json === '' ? [] : asArray(JSON.parse(json));
}

import { isoFromUnixNano } from '../../lib/time.ts';
import {
  asArray,
  asRecord,
  type Plain,
  plainFromAnyValue,
  plainFromInt,
  plainFromKeyValues,
  typeOfAnyValue,
} from './any-value-plain.ts';
import type { SpanDetail } from './span-queries.ts';

type Wire = Record<string, unknown>;

/** What was asked for of the parts of a span that are stored as sent. `ownerOf` reads a resource or a scope. */
export function partsToWire(detail: SpanDetail, ownerOf: (json: string) => Wire) {
  const { events, links, resource, scope } = detail;
  return {
    ...attributesToWire(detail),
    ...(events === undefined ? {} : { events: listOf(events).map(eventToWire) }),
    ...(links === undefined ? {} : { links: listOf(links).map(linkToWire) }),
    ...(resource === undefined ? {} : { resource: ownerOf(resource) }),
    ...(scope === undefined ? {} : { scope: ownerOf(scope) }),
  };
}

/** Reads resources and scopes, of which the spans of a trace share few: each of them once. */
export function ownerReader(): (json: string) => Wire {
  const known = new Map<string, Wire>();
  return (json) => {
    const owner = known.get(json) ?? ownerToWire(json);
    known.set(json, owner);
    return owner;
  };
}

/** What JSON has no number for: ClickHouse's names, and those of OTLP/JSON that nested values have. */
const specialDoubles: Readonly<Record<string, string>> = { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' };

function attributesToWire(detail: SpanDetail): { attributes?: Wire; attribute_types?: Record<string, string> } {
  if (detail.attributes_string === undefined) return {};
  const values: Record<string, Plain> = Object.create(null);
  const typeNames: Record<string, string> = Object.create(null);
  Object.assign(values, detail.attributes_string, detail.attributes_bool);
  for (const [key, decimal] of Object.entries(detail.attributes_int ?? {})) {
    values[key] = plainFromInt(decimal);
    typeNames[key] = 'int';
  }
  for (const [key, value] of Object.entries(detail.attributes_double ?? {})) {
    values[key] = typeof value === 'string' ? (specialDoubles[value] ?? value) : value;
    typeNames[key] = 'double';
  }
  for (const [key, json] of Object.entries(detail.attributes_other ?? {})) {
    const value: unknown = JSON.parse(json);
    values[key] = plainFromAnyValue(value);
    typeNames[key] = typeOfAnyValue(value);
  }
  return { attributes: values, attribute_types: typeNames };
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

import { MalformedError } from '../lib/errors.ts';
import { blankResource, blankScope } from './blank.ts';
import {
  isObject,
  JsonContext,
  type JsonObject,
  mayHoldLoneSurrogates,
  plusDropped,
  readString,
} from './json-fields.ts';
import { guardJson } from './json-guard.ts';
import { readSpan } from './json-span.ts';
import { readAttributes } from './json-values.ts';
import type { OtlpLimits } from './limits.ts';
import { Rejections, shown } from './rejections.ts';
import type { Resource, Scope, Span } from './span.ts';
import { overLimitFault } from './span-checks.ts';
import { noteOnSpans } from './warnings.ts';

export interface JsonTraces {
  spans: Span[];
  rejections: Rejections;
  /** Bits of `warning` over all accepted spans, resources and scopes. */
  warnings: number;
  notices: string[];
}

const unknownKeysMax = 5;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads OTLP/JSON. The scan and the decoder both use this function, because JSON.parse is most of
 * the cost of both.
 * @throws MalformedError when the body is not UTF-8, not JSON, or not an OTLP envelope
 */
export function readJsonTraces(bytes: Uint8Array, limits: OtlpLimits): JsonTraces {
  const text = decodeUtf8(bytes);
  guardJson(bytes, limits);
  const root = parse(text);
  const context: JsonContext = new JsonContext(limits, mayHoldLoneSurrogates(text));
  if (!isObject(root)) context.malformed(`the body must be an object, not ${shown(root)}`);
  const traces: JsonTraces = { spans: [], rejections: new Rejections(), warnings: 0, notices: unknownKeys(root) };
  for (const [index, item] of list(context, root.resourceSpans, 'resourceSpans').entries()) {
    context.path = `resourceSpans[${index}]`;
    readResourceSpans(context, object(context, item), traces);
  }
  return traces;
}

function readResourceSpans(context: JsonContext, item: JsonObject, traces: JsonTraces): void {
  const { path } = context;
  const first = traces.spans.length;
  const resource = readResource(context, item);
  const warnings = context.takeWarnings();
  traces.warnings |= warnings;
  for (const [index, scopeSpans] of list(context, item.scopeSpans, 'scopeSpans').entries()) {
    context.path = `${path}.scopeSpans[${index}]`;
    readScopeSpans(context, object(context, scopeSpans), resource, traces);
  }
  context.path = path;
  noteOnSpans(traces.spans.slice(first), warnings);
}

function readScopeSpans(context: JsonContext, item: JsonObject, resource: Resource, traces: JsonTraces): void {
  const first = traces.spans.length;
  const scope = readScope(context, item);
  const warnings = context.takeWarnings();
  traces.warnings |= warnings;
  for (const value of list(context, item.spans, 'spans')) {
    const read = readSpan(context, value, resource, scope);
    const bits = context.takeWarnings();
    if ('rule' in read) traces.rejections.add(read);
    else if (traces.spans.length >= context.limits.spansMax)
      traces.rejections.add(overLimitFault(context.limits.spansMax));
    else {
      traces.spans.push(read);
      traces.warnings |= bits;
    }
  }
  noteOnSpans(traces.spans.slice(first), warnings);
}

function readResource(context: JsonContext, item: JsonObject): Resource {
  const resource = blankResource();
  resource.schemaUrl = readString(context, item.schemaUrl, 'schemaUrl');
  if (item.resource === undefined || item.resource === null) return resource;
  const sent = object(context, item.resource);
  const { attributes, dropped } = readAttributes(context, sent.attributes);
  resource.attributes = attributes;
  resource.droppedAttributesCount = plusDropped(
    context,
    sent.droppedAttributesCount,
    'droppedAttributesCount',
    dropped,
  );
  return resource;
}

function readScope(context: JsonContext, item: JsonObject): Scope {
  const scope = blankScope();
  scope.schemaUrl = readString(context, item.schemaUrl, 'schemaUrl');
  if (item.scope === undefined || item.scope === null) return scope;
  const sent = object(context, item.scope);
  const { attributes, dropped } = readAttributes(context, sent.attributes);
  scope.name = readString(context, sent.name, 'scope.name');
  scope.version = readString(context, sent.version, 'scope.version');
  scope.attributes = attributes;
  scope.droppedAttributesCount = plusDropped(context, sent.droppedAttributesCount, 'droppedAttributesCount', dropped);
  return scope;
}

function list(context: JsonContext, value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : context.malformed(`${field} must be an array, not ${shown(value)}`);
}

function object(context: JsonContext, value: unknown): JsonObject {
  return isObject(value) ? value : context.malformed(`expected an object, not ${shown(value)}`);
}

/**
 * Reports unknown top-level keys. Without this, a body with a misspelled root key would silently
 * succeed.
 */
function unknownKeys(root: JsonObject): string[] {
  const keys = Object.keys(root).filter((key) => key !== 'resourceSpans');
  return keys
    .slice(0, unknownKeysMax)
    .map((key) => `the unknown top-level key ${shown(key)} was ignored; OTLP/JSON defines resourceSpans`);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new MalformedError('malformed_otlp', 'Not an OTLP JSON body: it is not UTF-8', { cause });
  }
}

/**
 * Parses JSON. An empty body is invalid: only protobuf encodes the empty request as no bytes, JSON
 * needs `{}`.
 */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MalformedError('malformed_otlp', `Not an OTLP JSON body: ${why}`, { cause });
  }
}

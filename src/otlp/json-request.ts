import { MalformedError } from '../lib/errors.ts';
import { blankResource, blankScope } from './blank.ts';
import { isObject, JsonContext, type JsonObject, mayHoldLoneSurrogates, readText } from './json-fields.ts';
import { guardJson } from './json-guard.ts';
import { readAttributed } from './json-values.ts';
import type { OtlpLimits } from './limits.ts';
import { refuseOtherRoot } from './other-signal.ts';
import { type SignalTerms, signalTerms } from './otlp-schema.ts';
import { type ItemFault, isFault, overLimitFault, Rejections, shown } from './rejections.ts';
import type { Signal } from './signal.ts';
import type { Resource, Scope } from './span.ts';
import { noteOnItems } from './warnings.ts';

export interface JsonRequest<Item> {
  items: Item[];
  rejections: Rejections;
  /** Bits of `warning` over all accepted items, resources and scopes. */
  warnings: number;
  notices: string[];
}

/** Reads one item. Returns the fault if the item is rejected. */
type ItemReader<Item> = (context: JsonContext, value: unknown, resource: Resource, scope: Scope) => Item | ItemFault;

interface Reading<Item> {
  context: JsonContext;
  signal: Signal;
  terms: SignalTerms;
  itemsMax: number;
  readItem: ItemReader<Item>;
  request: JsonRequest<Item>;
}

const unknownKeysMax = 5;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads OTLP/JSON of one signal. The scan and the decoder both use this function, because JSON.parse
 * is most of the cost of both.
 * @throws MalformedError when the body is not UTF-8, not JSON, or not an OTLP envelope of the signal
 */
export function readJsonRequest<Item extends { warnings: string[] }>(
  signal: Signal,
  readItem: ItemReader<Item>,
  bytes: Uint8Array,
  limits: OtlpLimits,
): JsonRequest<Item> {
  const text = decodeUtf8(bytes);
  guardJson(bytes, limits);
  const root = parse(text);
  const context: JsonContext = new JsonContext(limits, mayHoldLoneSurrogates(text));
  if (!isObject(root)) context.malformed(`the body must be an object, not ${shown(root)}`);
  refuseOtherRoot(signal, root);
  const terms = signalTerms[signal];
  const { resourcesMember } = terms;
  const notices = unknownKeys(root, resourcesMember);
  const request: JsonRequest<Item> = { items: [], rejections: new Rejections(signal), warnings: 0, notices };
  const reading: Reading<Item> = { context, signal, terms, itemsMax: limits[terms.itemsMax], readItem, request };
  for (const [index, item] of list(context, root[resourcesMember], resourcesMember).entries()) {
    context.path = `${resourcesMember}[${index}]`;
    readResourceItems(reading, object(context, item));
  }
  return request;
}

function readResourceItems<Item extends { warnings: string[] }>(reading: Reading<Item>, sent: JsonObject): void {
  const { context, request } = reading;
  const { scopesMember } = reading.terms;
  const { path } = context;
  const first = request.items.length;
  const resource = readResource(context, sent);
  const warnings = context.takeWarnings();
  request.warnings |= warnings;
  for (const [index, scopeItems] of list(context, sent[scopesMember], scopesMember).entries()) {
    context.path = `${path}.${scopesMember}[${index}]`;
    readScopeItems(reading, object(context, scopeItems), resource);
  }
  context.path = path;
  noteOnItems(request.items.slice(first), warnings);
}

function readScopeItems<Item extends { warnings: string[] }>(
  reading: Reading<Item>,
  sent: JsonObject,
  resource: Resource,
): void {
  const { context, request, readItem, itemsMax } = reading;
  const { items, rejections } = request;
  const { itemsMember } = reading.terms;
  const first = items.length;
  const scope = readScope(context, sent);
  const warnings = context.takeWarnings();
  request.warnings |= warnings;
  for (const value of list(context, sent[itemsMember], itemsMember)) {
    const read = readItem(context, value, resource, scope);
    const bits = context.takeWarnings();
    if (isFault(read)) rejections.add(read);
    else if (items.length >= itemsMax) rejections.add(overLimitFault(reading.signal, itemsMax));
    else {
      items.push(read);
      request.warnings |= bits;
    }
  }
  noteOnItems(items.slice(first), warnings);
}

function readResource(context: JsonContext, item: JsonObject): Resource {
  const resource = blankResource();
  resource.schemaUrl = readText(context, item.schemaUrl, 'schemaUrl');
  if (item.resource === undefined || item.resource === null) return resource;
  return Object.assign(resource, readAttributed(context, object(context, item.resource)));
}

function readScope(context: JsonContext, item: JsonObject): Scope {
  const scope = blankScope();
  scope.schemaUrl = readText(context, item.schemaUrl, 'schemaUrl');
  if (item.scope === undefined || item.scope === null) return scope;
  const sent = object(context, item.scope);
  scope.name = readText(context, sent.name, 'scope.name');
  scope.version = readText(context, sent.version, 'scope.version');
  return Object.assign(scope, readAttributed(context, sent));
}

function list(context: JsonContext, value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) context.malformed(`${field} must be an array, not ${shown(value)}`);
  context.count(value.length);
  return value;
}

function object(context: JsonContext, value: unknown): JsonObject {
  return isObject(value) ? value : context.malformed(`expected an object, not ${shown(value)}`);
}

/**
 * Reports unknown top-level keys. Without this, a body with a misspelled root key would silently
 * succeed.
 */
function unknownKeys(root: JsonObject, knownKey: string): string[] {
  const keys = Object.keys(root).filter((key) => key !== knownKey);
  return keys
    .slice(0, unknownKeysMax)
    .map((key) => `the unknown top-level key ${shown(key)} was ignored; OTLP/JSON defines ${knownKey}`);
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

import { LRUCache } from 'lru-cache';
import { textKey } from '../lib/text-key.ts';
import { attributesFromStored, attributesToJson } from './any-value-json.ts';
import { blankResource, blankScope } from './blank.ts';
import type { Attributes, Resource, Scope } from './span.ts';

/**
 * JSON already written. The spans of a request share few resources and scopes, so each is written
 * once.
 */
const written = new WeakMap<Resource | Scope, string>();

/** Returns the OTLP/JSON of a resource, with the schema URL of its ResourceSpans. */
export function resourceToJson(resource: Resource): string {
  return remembered(
    resource,
    () =>
      `{"attributes":${attributesToJson(resource.attributes)}${countedJson(resource)}${textJson('schemaUrl', resource.schemaUrl)}}`,
  );
}

/** Returns the OTLP/JSON of an instrumentation scope, with the schema URL of its ScopeSpans. */
export function scopeToJson(scope: Scope): string {
  return remembered(
    scope,
    () =>
      `{"name":${JSON.stringify(scope.name)}${textJson('version', scope.version)},"attributes":${attributesToJson(scope.attributes)}` +
      `${countedJson(scope)}${textJson('schemaUrl', scope.schemaUrl)}}`,
  );
}

/** Returns `,"droppedAttributesCount":n`, or '' for none. */
export function countedJson(item: { droppedAttributesCount: number }): string {
  return item.droppedAttributesCount === 0 ? '' : `,"droppedAttributesCount":${item.droppedAttributesCount}`;
}

/** Returns `,"key":"value"`, or '' for an empty value. */
export function textJson(key: string, value: string): string {
  return value === '' ? '' : `,"${key}":${JSON.stringify(value)}`;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Many spans share few resources and scopes. As separate objects each would be written out again.
 * Shared by all workspaces: of those that were read last, so many and so many UTF-16 units of JSON.
 * An object takes several times its JSON.
 */
const sharedMax = { max: 1_000, maxSize: 4 * 1024 * 1024 };
const resources = new LRUCache<string, Resource>(sharedMax);
const scopes = new LRUCache<string, Scope>(sharedMax);

/**
 * Reads what {@link resourceToJson} wrote.
 * @throws MalformedError or SyntaxError for anything else
 */
export function resourceFromJson(json: string): Resource {
  return shared(resources, json, (sent) => ({
    ...blankResource(),
    ...attributedFromJson(sent),
    schemaUrl: textOf(sent.schemaUrl),
  }));
}

/**
 * Reads what {@link scopeToJson} wrote.
 * @throws MalformedError or SyntaxError for anything else
 */
export function scopeFromJson(json: string): Scope {
  return shared(scopes, json, (sent) => ({
    ...blankScope(),
    ...attributedFromJson(sent),
    name: textOf(sent.name),
    version: textOf(sent.version),
    schemaUrl: textOf(sent.schemaUrl),
  }));
}

/** Reads the attributes of a stored resource, scope, event or link. */
export function attributedFromJson(json: Json): { attributes: Attributes; droppedAttributesCount: number } {
  return {
    attributes: attributesFromStored(json.attributes),
    droppedAttributesCount: Number(json.droppedAttributesCount ?? 0),
  };
}

/** Returns a string, or '' for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shared<T extends object>(known: LRUCache<string, T>, json: string, read: (json: Json) => T): T {
  const key = textKey(json);
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = read(json === '' ? {} : JSON.parse(json));
  known.set(key, made, { size: json.length + 1 });
  return made;
}

function remembered(item: Resource | Scope, write: () => string): string {
  const known = written.get(item);
  if (known !== undefined) return known;
  const json = write();
  written.set(item, json);
  return json;
}

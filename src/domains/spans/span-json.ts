import { attributesToJson } from '../../otlp/any-value-json.ts';
import type { Resource, Scope, SpanEvent, SpanLink } from '../../otlp/span.ts';

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
      `{"attributes":${attributesToJson(resource.attributes)}${counted(resource)}${text('schemaUrl', resource.schemaUrl)}}`,
  );
}

/** Returns the OTLP/JSON of an instrumentation scope, with the schema URL of its ScopeSpans. */
export function scopeToJson(scope: Scope): string {
  return remembered(
    scope,
    () =>
      `{"name":${JSON.stringify(scope.name)}${text('version', scope.version)},"attributes":${attributesToJson(scope.attributes)}` +
      `${counted(scope)}${text('schemaUrl', scope.schemaUrl)}}`,
  );
}

/** Returns an OTLP/JSON list of events; '' for none. */
export function eventsToJson(events: readonly SpanEvent[]): string {
  return list(
    events,
    (event) =>
      `{"timeUnixNano":"${event.timeUnixNano}","name":${JSON.stringify(event.name)},` +
      `"attributes":${attributesToJson(event.attributes)}${counted(event)}}`,
  );
}

/** Returns an OTLP/JSON list of links; '' for none. */
export function linksToJson(links: readonly SpanLink[]): string {
  return list(
    links,
    (link) =>
      `{"traceId":"${link.traceId}","spanId":"${link.spanId}"${text('traceState', link.traceState)},` +
      `"attributes":${attributesToJson(link.attributes)}${counted(link)},"flags":${link.flags}}`,
  );
}

function list<T>(items: readonly T[], write: (item: T) => string): string {
  return items.length === 0 ? '' : `[${items.map(write).join(',')}]`;
}

function counted(item: { droppedAttributesCount: number }): string {
  return item.droppedAttributesCount === 0 ? '' : `,"droppedAttributesCount":${item.droppedAttributesCount}`;
}

function text(key: string, value: string): string {
  return value === '' ? '' : `,"${key}":${JSON.stringify(value)}`;
}

function remembered(item: Resource | Scope, write: () => string): string {
  const known = written.get(item);
  if (known !== undefined) return known;
  const json = write();
  written.set(item, json);
  return json;
}

import { attributesToJson } from '../../otlp/any-value-json.ts';
import { countedJson, textJson } from '../../otlp/origin-json.ts';
import type { SpanEvent, SpanLink } from '../../otlp/span.ts';

/** Returns an OTLP/JSON list of events; '' for none. */
export function eventsToJson(events: readonly SpanEvent[]): string {
  return list(
    events,
    (event) =>
      `{"timeUnixNano":"${event.timeUnixNano}","name":${JSON.stringify(event.name)},` +
      `"attributes":${attributesToJson(event.attributes)}${countedJson(event)}}`,
  );
}

/** Returns an OTLP/JSON list of links; '' for none. */
export function linksToJson(links: readonly SpanLink[]): string {
  return list(
    links,
    (link) =>
      `{"traceId":"${link.traceId}","spanId":"${link.spanId}"${textJson('traceState', link.traceState)},` +
      `"attributes":${attributesToJson(link.attributes)}${countedJson(link)},"flags":${link.flags}}`,
  );
}

function list<T>(items: readonly T[], write: (item: T) => string): string {
  return items.length === 0 ? '' : `[${items.map(write).join(',')}]`;
}

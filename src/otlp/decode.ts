import { decodeProtobufRequest } from './decode-protobuf.ts';
import { readSpan } from './decode-span.ts';
import { readJsonRequest } from './json-request.ts';
import { readSpan as readJsonSpan } from './json-span.ts';
import type { OtlpLimits } from './limits.ts';
import type { OtlpEncoding } from './media-type.ts';
import type { Span } from './span.ts';

/**
 * Decodes the spans that `scanTraces` accepts, in the order of the body.
 * @throws MalformedError exactly when the scan throws it
 */
export function decodeTraces(encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): Span[] {
  return encoding === 'protobuf'
    ? decodeProtobufRequest('traces', readSpan, bytes, limits)
    : readJsonRequest('traces', readJsonSpan, bytes, limits).items;
}

/**
 * Returns each span once. If a body has several spans with one id, the last one wins, as with
 * separate requests.
 */
export function lastSent(spans: readonly Span[]): readonly Span[] {
  const byId = new Map(spans.map((span) => [span.traceId + span.spanId, span]));
  return byId.size === spans.length ? spans : [...byId.values()];
}

import { decodeProtobuf } from './decode-protobuf.ts';
import { readJsonTraces } from './json-traces.ts';
import type { OtlpLimits } from './limits.ts';
import type { OtlpEncoding } from './media-type.ts';
import type { Span } from './span.ts';

/** The spans that `scanTraces` accepts, in the order of the body. Throws MalformedError exactly when the scan does. */
export function decodeTraces(encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): Span[] {
  return encoding === 'protobuf' ? decodeProtobuf(bytes, limits) : readJsonTraces(bytes, limits).spans;
}

/** Each span once: of those that one body sends under one id the last, as if they had come one after the other. */
export function lastSent(spans: readonly Span[]): readonly Span[] {
  const byId = new Map(spans.map((span) => [span.traceId + span.spanId, span]));
  return byId.size === spans.length ? spans : [...byId.values()];
}

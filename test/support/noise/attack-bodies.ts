import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export interface AttackSpan {
  traceId: string;
  spanId?: string;
  parentSpanId?: string;
  attributes?: Readonly<Record<string, string>>;
  events?: number;
}

export const newTraceId = () => randomBytes(16).toString('hex');

/** An OTLP request in JSON, compressed. */
export function tracesBody(spans: readonly AttackSpan[]): Buffer {
  const startMs = Date.now() - 1_000;
  const wireSpans = spans.map(({ traceId, spanId, parentSpanId, attributes = {}, events = 0 }) => ({
    traceId,
    spanId: spanId ?? randomBytes(8).toString('hex'),
    parentSpanId,
    name: 'attack',
    kind: 1,
    startTimeUnixNano: `${startMs}000000`,
    endTimeUnixNano: `${startMs + 5}000000`,
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    events: Array.from({ length: events }, (_, index) => ({
      name: `event ${index}`,
      timeUnixNano: `${startMs}000000`,
    })),
  }));
  return gzipSync(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: wireSpans }] }] }), { level: 1 });
}

export const tracesHeaders = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };

/** Returns the longest text of small JSON values that one attribute may have. */
export function manyValues(charsMax = 1_000_000): string {
  return `[${'{},'.repeat(Math.floor(charsMax / 3) - 1)}{}]`;
}

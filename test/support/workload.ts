import { gzipSync } from 'node:zlib';
import { hexOf, integerBetween, type Random } from './random.ts';

/** One OTLP request and its spans as `traceId/spanId`. */
export interface SpanBody {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
  spanKeys: readonly string[];
}

interface OpenTrace {
  traceId: string;
  rootId: string;
  /** Spans that were not sent yet. The root is one of them, at any position. */
  left: string[];
}

const openTracesMax = 8;
const spansPerBody = 10;
const spansPerTraceMax = 14;

/**
 * Creates any number of bodies of ten spans. The spans of a trace are in many bodies. Every second
 * body is compressed.
 */
export function createWorkload(random: Random): { next: () => SpanBody } {
  const open: OpenTrace[] = [];
  let made = 0;
  const takeSpan = () => {
    while (open.length < openTracesMax) open.push(openTrace(random));
    const at = integerBetween(random, 0, open.length - 1);
    const trace = open[at] ?? openTrace(random);
    const spanId = trace.left.splice(integerBetween(random, 0, trace.left.length - 1), 1)[0] ?? trace.rootId;
    if (trace.left.length === 0) open.splice(at, 1);
    return { traceId: trace.traceId, spanId, parentSpanId: spanId === trace.rootId ? undefined : trace.rootId };
  };
  return {
    next() {
      const spans = Array.from({ length: spansPerBody }, takeSpan);
      return bodyOf(spans, { compressed: made++ % 2 === 1 });
    },
  };
}

/** Returns a body with one new trace. `note` is an attribute of its spans. */
export function singleTraceBody(random: Random, spanCount: number, note = ''): SpanBody {
  const trace = openTrace(random);
  const ids = [trace.rootId, ...Array.from({ length: spanCount - 1 }, () => hexOf(random, 8))];
  const spans = ids.map((spanId) => ({
    traceId: trace.traceId,
    spanId,
    parentSpanId: spanId === trace.rootId ? undefined : trace.rootId,
  }));
  return bodyOf(spans, { note });
}

function openTrace(random: Random): OpenTrace {
  const rootId = hexOf(random, 8);
  const others = Array.from({ length: integerBetween(random, 1, spansPerTraceMax - 1) }, () => hexOf(random, 8));
  return { traceId: hexOf(random, 16), rootId, left: [rootId, ...others] };
}

function bodyOf(
  spans: readonly { traceId: string; spanId: string; parentSpanId: string | undefined }[],
  { compressed = false, note = '' }: { compressed?: boolean; note?: string },
): SpanBody {
  const startMs = Date.now() - 1_000;
  const wireSpans = spans.map((span) => ({
    ...span,
    name: 'chat',
    kind: 3,
    startTimeUnixNano: `${startMs}000000`,
    endTimeUnixNano: `${startMs + 40}000000`,
    attributes: [
      { key: 'gen_ai.request.model', value: { stringValue: 'gpt-4o-mini' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
      { key: 'note', value: { stringValue: note } },
    ],
  }));
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'fault-test' } }] };
  const text = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: wireSpans }] }] });
  return {
    bytes: compressed ? gzipSync(text) : Buffer.from(text),
    headers: { 'Content-Type': 'application/json', ...(compressed && { 'Content-Encoding': 'gzip' }) },
    spanKeys: spans.map(({ traceId, spanId }) => `${traceId}/${spanId}`),
  };
}

import { randomBytes } from 'node:crypto';
import { encodeTraces, type SpanInput } from '../../test/support/otlp-encode.ts';
import { spansPerTrace } from '../options.ts';
import { type Random, seededRandom, spanContent } from './span-content.ts';

/** Offsets of ids and times in {@link BodyTemplate.bytes}. New values are written there without encoding the body. */
export interface BodyTemplate {
  bytes: Buffer;
  traceIds: readonly (readonly number[])[];
  spanIds: readonly (readonly number[])[];
  /** Offset of each time, and its distance from the time of sending in nanoseconds. */
  times: readonly { offsets: readonly number[]; sinceNano: bigint }[];
}

const placeholderNano = 1n << 60n;
const msPerSpan = 90;

/**
 * Creates a protobuf body of spans like those of an LLM. The seed determines its text. Its ids and
 * times are placeholders.
 */
export function createBodyTemplate(seed: number, spansPerBody: number): BodyTemplate {
  const ids = newIds(spansPerBody, spansPerTrace);
  const spans = spansOf(seededRandom(seed), ids, placeholderNano);
  const bytes = encodeBody(spans);
  const times = new Set(spans.flatMap(({ startUnixNano = 0n, endUnixNano = 0n }) => [startUnixNano, endUnixNano]));
  return {
    bytes,
    traceIds: ids.traceIds.map((id) => offsetsOf(bytes, id)),
    spanIds: ids.spanIds.map((id) => offsetsOf(bytes, id)),
    times: [...times].map((time) => ({ sinceNano: time - placeholderNano, offsets: offsetsOf(bytes, fixed64(time)) })),
  };
}

/** Returns the body of {@link createBodyTemplate} as it is sent: one trace that ends at `endMs`. */
export function createTraceBody(seed: number, spanCount: number, endMs: number): { bytes: Buffer; traceId: string } {
  const ids = newIds(spanCount, spanCount);
  const bytes = encodeBody(spansOf(seededRandom(seed), ids, BigInt(endMs) * 1_000_000n));
  return { bytes, traceId: hex(ids.traceIds[0]) };
}

interface Ids {
  traceIds: readonly Buffer[];
  spanIds: readonly Buffer[];
  traceSpans: number;
}

function newIds(spanCount: number, traceSpans: number): Ids {
  return {
    traceIds: Array.from({ length: spanCount / traceSpans }, () => randomBytes(16)),
    spanIds: Array.from({ length: spanCount }, () => randomBytes(8)),
    traceSpans,
  };
}

/**
 * Each trace has one root, and the other spans are its children. Times differ by whole
 * milliseconds, so each time is unique in the bytes.
 */
function spansOf(random: Random, { traceIds, spanIds, traceSpans }: Ids, endNano: bigint): SpanInput[] {
  const traceLengthMs = msPerSpan * traceSpans;
  return spanIds.map((spanId, index): SpanInput => {
    const place = index % traceSpans;
    const startUnixNano = endNano + BigInt(-traceLengthMs - index + place * 50) * 1_000_000n;
    return {
      traceId: hex(traceIds[Math.floor(index / traceSpans)]),
      spanId: hex(spanId),
      ...(place > 0 && { parentSpanId: hex(spanIds[index - place]) }),
      kind: place === 0 ? 1 : 3,
      startUnixNano,
      endUnixNano: place === 0 ? endNano - BigInt(index) * 1_000_000n : startUnixNano + 45_000_000n,
      statusCode: 1,
      ...spanContent(random, place),
    };
  });
}

function encodeBody(spans: readonly SpanInput[]): Buffer {
  return encodeTraces('protobuf', [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }]);
}

const resource = {
  'service.name': 'support-agent',
  'service.version': '3.14.1',
  'deployment.environment.name': 'bench',
  'telemetry.sdk.language': 'python',
  'telemetry.sdk.name': 'opentelemetry',
  'telemetry.sdk.version': '1.39.0',
};
const scope = { name: 'opentelemetry.instrumentation.openai_v2', version: '2.3b0' };

function hex(id: Buffer | undefined): string {
  if (id === undefined) throw new Error('The template has fewer ids than spans');
  return id.toString('hex');
}

function fixed64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

function offsetsOf(bytes: Buffer, part: Buffer): number[] {
  const offsets: number[] = [];
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) offsets.push(at);
  return offsets;
}

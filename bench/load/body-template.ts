import { randomBytes } from 'node:crypto';
import { encodeTraces, type SpanInput } from '../../test/support/otlp-encode.ts';
import { spansPerTrace } from '../options.ts';
import { seededRandom, spanContent } from './span-content.ts';

/** Offsets into {@link BodyTemplate.bytes} where ids and times stand, so that new ones cost no encoding. */
export interface BodyTemplate {
  bytes: Buffer;
  traceIds: readonly (readonly number[])[];
  spanIds: readonly (readonly number[])[];
  /** Each with its distance from the moment of sending, in nanoseconds. */
  times: readonly { offsets: readonly number[]; sinceNano: bigint }[];
}

const placeholderNano = 1n << 60n;
const msPerSpan = 90;

/** A protobuf body of LLM-like spans whose text the seed decides. Ids and times in it are placeholders. */
export function createBodyTemplate(seed: number, spansPerBody: number, traceSpans = spansPerTrace): BodyTemplate {
  const random = seededRandom(seed);
  const traceIds = Array.from({ length: spansPerBody / traceSpans }, () => randomBytes(16));
  const traceLengthMs = msPerSpan * traceSpans;
  const spanIds = Array.from({ length: spansPerBody }, () => randomBytes(8));
  const sinceNanos = new Set<bigint>();
  const spans = spanIds.map((spanId, index): SpanInput => {
    const place = index % traceSpans;
    const root = spanIds[index - place];
    // Times are whole milliseconds apart, so that each stands in the bytes as itself.
    const startSince = BigInt(-traceLengthMs - index + place * 50) * 1_000_000n;
    const endSince = place === 0 ? 0n - BigInt(index) * 1_000_000n : startSince + 45_000_000n;
    sinceNanos.add(startSince).add(endSince);
    return {
      traceId: hex(traceIds[Math.floor(index / traceSpans)]),
      spanId: hex(spanId),
      ...(place > 0 && { parentSpanId: hex(root) }),
      kind: place === 0 ? 1 : 3,
      startUnixNano: placeholderNano + startSince,
      endUnixNano: placeholderNano + endSince,
      statusCode: 1,
      ...spanContent(random, place),
    };
  });
  const bytes = encodeTraces('protobuf', [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }]);
  return {
    bytes,
    traceIds: traceIds.map((id) => offsetsOf(bytes, id)),
    spanIds: spanIds.map((id) => offsetsOf(bytes, id)),
    times: [...sinceNanos].map((sinceNano) => ({
      sinceNano,
      offsets: offsetsOf(bytes, fixed64(placeholderNano + sinceNano)),
    })),
  };
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

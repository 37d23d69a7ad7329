import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedError } from '../../../src/lib/errors.ts';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits, type OtlpLimits } from '../../../src/otlp/limits.ts';
import { scanTraces } from '../../../src/otlp/scan.ts';
import { traces } from '../../support/otlp-arbitrary.ts';
import { encodeTraces, type SpanInput } from '../../support/otlp-encode.ts';

type Encoding = 'protobuf' | 'json';

/** So small that random requests run into every one of them. */
const tightLimits: OtlpLimits = {
  ...defaultOtlpLimits,
  spansMax: 2,
  attributeValueBytesMax: 5,
  attributesMax: 2,
  eventsMax: 1,
  linksMax: 1,
};

const captures = join(import.meta.dirname, '../../fixtures/captures');
const seeds: Record<Encoding, Buffer[]> = {
  protobuf: [
    'otel-proto/001',
    'langfuse-custom-exporter/001',
    'vercel-ai7-prompt-link/001',
    'otel-multiservice-skew/014',
  ].map((name) => readFileSync(join(captures, `${name}.body.pb`))),
  json: [readFileSync(join(captures, 'otel-json/001.body.json'))],
};

describe('OTLP codec, random requests', () => {
  it.each([defaultOtlpLimits, tightLimits])('protobuf and JSON of the same traces decode to equal spans', (limits) => {
    fc.assert(
      fc.property(traces, (input) => {
        const fromJson = decodeTraces('json', encodeTraces('json', input), limits);
        const fromProtobuf = decodeTraces('protobuf', encodeTraces('protobuf', input), limits);
        expect(fromProtobuf).toEqual(fromJson);
      }),
      { numRuns: 300 },
    );
  });

  it('what is encoded is what is decoded', () => {
    fc.assert(
      fc.property(traces, (input) => {
        const sent = input.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
        const decoded = decodeTraces('protobuf', encodeTraces('protobuf', input), defaultOtlpLimits);
        expect(decoded).toMatchObject(sent.map(withDefaults));
        expect(decoded).toHaveLength(sent.length);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['protobuf', 'json'] as const)('%s: scan and decode agree under tight limits', (encoding) => {
    fc.assert(
      fc.property(traces, (input) => expectAgreement(encoding, encodeTraces(encoding, input), tightLimits)),
      { numRuns: 300 },
    );
  });
});

describe.each(['protobuf', 'json'] as const)('OTLP codec, damaged %s bodies', (encoding) => {
  const seed = fc.constantFrom(...seeds[encoding]);

  it('a few bytes changed: malformed or decoded, scan and decode alike', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(seed, changes, (body, list) => {
        const damaged = Buffer.from(body);
        for (const [at, byte] of list) damaged[at % damaged.length] = byte;
        expectAgreement(encoding, damaged, defaultOtlpLimits);
        expectAgreement(encoding, damaged, tightLimits);
      }),
      { numRuns: 3000 },
    );
  });

  it('cut, with a piece removed or repeated: malformed or decoded, scan and decode alike', () => {
    fc.assert(
      fc.property(seed, fc.nat(), fc.nat(), fc.boolean(), (body, a, b, repeat) => {
        const [from, to] = [a % body.length, b % body.length].sort((x, y) => x - y) as [number, number];
        expectAgreement(encoding, body.subarray(0, to), defaultOtlpLimits);
        expectAgreement(
          encoding,
          Buffer.concat([body.subarray(0, repeat ? to : from), body.subarray(repeat ? from : to)]),
          tightLimits,
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('arbitrary bytes: malformed or decoded, scan and decode alike', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectAgreement(encoding, bytes, tightLimits)),
      { numRuns: 3000 },
    );
  });
});

it('OTLP protobuf of arbitrary nested messages: scan and decode alike', () => {
  const field = fc.integer({ min: 1, max: 17 });
  const leaf = fc.oneof(
    fc.tuple(field, fc.bigInt({ min: 0n, max: 2n ** 70n })).map(([n, v]) => Buffer.concat([varint(n * 8), varint(v)])),
    fc.tuple(field, fc.uint8Array({ maxLength: 20 })).map(([n, v]) => lengthDelimited(n, v)),
    fc
      .tuple(field, fc.constantFrom(3, 4, 5, 1, 6, 7))
      .map(([n, wire]) => Buffer.concat([varint(n * 8 + wire), Buffer.alloc(8)])),
    fc.constant(lengthDelimited(1, Buffer.alloc(16, 1))),
    fc.constant(lengthDelimited(2, Buffer.alloc(8, 1))),
  );
  const message = fc.letrec<{ node: Buffer }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 8 },
      leaf,
      fc
        .tuple(field, fc.array(tie('node'), { maxLength: 5 }))
        .map(([n, parts]) => lengthDelimited(n, Buffer.concat(parts))),
    ),
  })).node;
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), fc.boolean(), (parts, inside) => {
      const bytes = Buffer.concat(parts);
      const body = inside ? lengthDelimited(1, lengthDelimited(2, lengthDelimited(2, bytes))) : bytes;
      expectAgreement('protobuf', body, tightLimits);
    }),
    { numRuns: 5000 },
  );
});

/** Scan and decode either both find the body malformed, or agree on the number of spans. */
function expectAgreement(encoding: Encoding, bytes: Uint8Array, limits: OtlpLimits): void {
  const scanned = attempt(() => scanTraces(encoding, bytes, limits).spans);
  const decoded = attempt(() => decodeTraces(encoding, bytes, limits).length);
  expect(scanned).toBe(decoded);
}

function attempt(action: () => number): number | 'malformed' {
  try {
    return action();
  } catch (error) {
    if (error instanceof MalformedError && error.code === 'malformed_otlp') return 'malformed';
    throw error;
  }
}

function withDefaults(span: SpanInput) {
  return {
    parentSpanId: '',
    name: '',
    kind: 0,
    events: [],
    links: [],
    attributes: new Map(),
    ...span,
    ...(/^0+$/.test(span.parentSpanId ?? '') && { parentSpanId: '' }),
  };
}

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

function lengthDelimited(field: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

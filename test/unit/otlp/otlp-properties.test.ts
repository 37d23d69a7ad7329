import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedError } from '../../../src/lib/errors.ts';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { decodeLogs } from '../../../src/otlp/decode-logs.ts';
import { defaultOtlpLimits, type OtlpLimits } from '../../../src/otlp/limits.ts';
import { repeatedBytesOf } from '../../../src/otlp/repeated-bytes.ts';
import { scanBody } from '../../../src/otlp/scan.ts';
import type { Signal } from '../../../src/otlp/signal.ts';
import { logs, traces } from '../../support/otlp-arbitrary.ts';
import {
  encodeLogs,
  encodeTraces,
  type LogRecordInput,
  type ResourceLogsInput,
  type ResourceSpansInput,
  type SpanInput,
} from '../../support/otlp-encode.ts';

type Encoding = 'protobuf' | 'json';

/** So small that random requests run into every one of them. */
const tightLimits: OtlpLimits = {
  ...defaultOtlpLimits,
  spansMax: 2,
  recordsMax: 2,
  attributeValueBytesMax: 5,
  attributesMax: 2,
  eventsMax: 1,
  linksMax: 1,
};

const fixtures = join(import.meta.dirname, '../../fixtures');
const seeds: Record<Signal, Record<Encoding, Buffer[]>> = {
  traces: {
    protobuf: [
      'captures/otel-proto/001',
      'captures/langfuse-custom-exporter/001',
      'captures/vercel-ai7-prompt-link/001',
      'captures/otel-multiservice-skew/014',
    ].map((name) => readFileSync(join(fixtures, `${name}.body.pb`))),
    json: [readFileSync(join(fixtures, 'captures/otel-json/001.body.json'))],
  },
  logs: {
    protobuf: ['log-captures/otel-logs-openai/001', 'log-captures/otel-logs-openai-no-content/001'].map((name) =>
      readFileSync(join(fixtures, `${name}.body.pb`)),
    ),
    json: [gunzipSync(readFileSync(join(fixtures, 'log-captures/otel-logs-env-json-gzip/001.body.json.gzip')))],
  },
};

type Requests = { traces: ResourceSpansInput[]; logs: ResourceLogsInput[] };

const decoders = { traces: decodeTraces, logs: decodeLogs };
const encoders: { [S in Signal]: (encoding: Encoding, input: Requests[S]) => Buffer } = {
  traces: encodeTraces,
  logs: encodeLogs,
};
/** What decoding must return of each item that was sent. */
const expectations: { [S in Signal]: (input: Requests[S]) => unknown[] } = {
  traces: (input) => input.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(expectedSpan))),
  logs: (input) =>
    input.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords.map(expectedRecord))),
};

describe('OTLP traces, random requests', () => testRandomRequests('traces', traces));
describe('OTLP logs, random requests', () => testRandomRequests('logs', logs));

function testRandomRequests<S extends Signal>(signal: S, requests: fc.Arbitrary<Requests[S]>): void {
  const encode = encoders[signal];
  const decode = decoders[signal];

  it.each([defaultOtlpLimits, tightLimits])('protobuf and JSON of the same request decode to equal items', (limits) => {
    fc.assert(
      fc.property(requests, (input) => {
        const fromJson = decode('json', encode('json', input), limits);
        const fromProtobuf = decode('protobuf', encode('protobuf', input), limits);
        expect(fromProtobuf).toEqual(fromJson);
      }),
      { numRuns: 300 },
    );
  });

  it('what is encoded is what is decoded', () => {
    fc.assert(
      fc.property(requests, (input) => {
        const expected = expectations[signal](input);
        const decoded = decode('protobuf', encode('protobuf', input), defaultOtlpLimits);
        expect(decoded).toMatchObject(expected);
        expect(decoded).toHaveLength(expected.length);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['protobuf', 'json'] as const)('%s: scan and decode agree under tight limits', (encoding) => {
    fc.assert(
      fc.property(requests, (input) => expectAgreement(signal, encoding, encode(encoding, input), tightLimits)),
      { numRuns: 300 },
    );
  });
}

describe.each([
  ['traces', 'protobuf'],
  ['traces', 'json'],
  ['logs', 'protobuf'],
  ['logs', 'json'],
] as const)('OTLP %s, damaged %s bodies', (signal, encoding) => {
  const seed = fc.constantFrom(...seeds[signal][encoding]);

  it('a few bytes changed: malformed or decoded, scan and decode alike', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(seed, changes, (body, list) => {
        const damaged = Buffer.from(body);
        for (const [at, byte] of list) damaged[at % damaged.length] = byte;
        expectAgreement(signal, encoding, damaged, defaultOtlpLimits);
        expectAgreement(signal, encoding, damaged, tightLimits);
      }),
      { numRuns: 3000 },
    );
  });

  it('cut, with a piece removed or repeated: malformed or decoded, scan and decode alike', () => {
    fc.assert(
      fc.property(seed, fc.nat(), fc.nat(), fc.boolean(), (body, a, b, repeat) => {
        const [from, to] = [a % body.length, b % body.length].sort((x, y) => x - y) as [number, number];
        expectAgreement(signal, encoding, body.subarray(0, to), defaultOtlpLimits);
        expectAgreement(
          signal,
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
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectAgreement(signal, encoding, bytes, tightLimits)),
      { numRuns: 3000 },
    );
  });

  it('the body of the other signal: malformed or decoded, scan and decode alike', () => {
    const other = fc.constantFrom(...seeds[signal === 'traces' ? 'logs' : 'traces'][encoding]);
    fc.assert(
      fc.property(other, fc.nat(), fc.nat({ max: 255 }), (body, at, byte) => {
        const damaged = Buffer.from(body);
        damaged[at % damaged.length] = byte;
        expectAgreement(signal, encoding, damaged, defaultOtlpLimits);
      }),
      { numRuns: 1000 },
    );
  });
});

it.each(['traces', 'logs'] as const)(
  'OTLP %s, protobuf of arbitrary nested messages: scan and decode alike',
  (signal) => {
    const field = fc.integer({ min: 1, max: 17 });
    const leaf = fc.oneof(
      fc
        .tuple(field, fc.bigInt({ min: 0n, max: 2n ** 70n }))
        .map(([n, v]) => Buffer.concat([varint(n * 8), varint(v)])),
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
        expectAgreement(signal, 'protobuf', body, tightLimits);
      }),
      { numRuns: 5000 },
    );
  },
);

/**
 * Scan and decode either both find the body malformed, or agree on the number of items. The scan
 * counts at least the bytes that the rows of these items repeat.
 */
function expectAgreement(signal: Signal, encoding: Encoding, bytes: Uint8Array, limits: OtlpLimits): void {
  const scanned = attempt(() => scanBody(signal, encoding, bytes, limits));
  const decoded = attempt(() => decoders[signal](encoding, bytes, limits));
  if (scanned === 'malformed' || decoded === 'malformed') {
    expect(scanned).toBe(decoded);
    return;
  }
  expect(scanned.accepted).toBe(decoded.length);
  expect(scanned.repeatedBytes).toBeGreaterThanOrEqual(repeatedBytesOf(decoded));
}

function attempt<T>(action: () => T): T | 'malformed' {
  try {
    return action();
  } catch (error) {
    if (error instanceof MalformedError && error.code === 'malformed_otlp') return 'malformed';
    throw error;
  }
}

function expectedSpan(span: SpanInput) {
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

function expectedRecord(record: LogRecordInput) {
  const attributes = record.attributes instanceof Map ? record.attributes : new Map();
  const named = attributes.get('event.name');
  return {
    timeUnixNano: 0n,
    observedUnixNano: 0n,
    severityNumber: 0,
    severityText: '',
    body: null,
    flags: 0,
    droppedAttributesCount: 0,
    ...record,
    attributes,
    eventName: record.eventName || (typeof named === 'string' ? named : ''),
    traceId: /^(?!0*$).{32}$/.test(record.traceId ?? '') ? record.traceId : '',
    spanId: /^(?!0*$).{16}$/.test(record.spanId ?? '') ? record.spanId : '',
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

import fc from 'fast-check';
import type { AnyValue, Attributes } from '../../src/otlp/span.ts';
import type { ResourceLogsInput, ResourceSpansInput } from './otlp-encode.ts';

/** Any Unicode text including NUL, but without lone surrogates, which UTF-8 cannot encode. */
const text = fc.string({ unit: 'binary', maxLength: 50 });
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'gen_ai.request.model', 'event.name', ''));
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff });
const nanos = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const hexId = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((id) => Buffer.from(id.fill(1, 0, 1)).toString('hex'));

export const { anyValue, attributes } = fc.letrec<{ anyValue: AnyValue; attributes: Attributes }>((tie) => ({
  anyValue: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text,
    fc.boolean(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.double(),
    fc.uint8Array({ maxLength: 40 }),
    fc.constant(null),
    fc.array(tie('anyValue'), { maxLength: 4 }),
    tie('attributes'),
  ),
  attributes: fc.array(fc.tuple(key, tie('anyValue')), { maxLength: 5 }).map((entries) => new Map(entries)),
}));

const attributed = { attributes, droppedAttributesCount: uint32 };

const span = fc.record(
  {
    ...attributed,
    traceId: hexId(16),
    spanId: hexId(8),
    parentSpanId: fc.oneof(hexId(8), fc.constantFrom('', '0000000000000000')),
    traceState: text,
    flags: uint32,
    name: text,
    kind: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    startUnixNano: nanos,
    endUnixNano: nanos,
    events: fc.array(fc.record({ ...attributed, timeUnixNano: nanos, name: text }, { requiredKeys: [] }), {
      maxLength: 3,
    }),
    droppedEventsCount: uint32,
    links: fc.array(
      fc.record(
        { ...attributed, traceId: hexId(16), spanId: hexId(8), traceState: text, flags: uint32 },
        { requiredKeys: ['traceId', 'spanId'] },
      ),
      { maxLength: 3 },
    ),
    droppedLinksCount: uint32,
    statusCode: fc.integer({ min: 0, max: 3 }),
    statusMessage: text,
  },
  { requiredKeys: ['traceId', 'spanId'] },
);

const logRecord = fc.record(
  {
    ...attributed,
    traceId: fc.oneof(hexId(16), fc.constantFrom('', '0'.repeat(32), 'abcd')),
    spanId: fc.oneof(hexId(8), fc.constantFrom('', '0'.repeat(16), 'abcd')),
    timeUnixNano: nanos,
    observedUnixNano: nanos,
    severityNumber: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    severityText: text,
    body: anyValue,
    flags: uint32,
    eventName: text,
  },
  { requiredKeys: [] },
);

const resourced = { resource: fc.record(attributed, { requiredKeys: [] }), schemaUrl: text };
const scoped = {
  scope: fc.record({ ...attributed, name: text, version: text }, { requiredKeys: [] }),
  schemaUrl: text,
};

/** Any request for logs that a correct exporter can send. Ids may be invalid, as OTLP allows. */
export const logs: fc.Arbitrary<ResourceLogsInput[]> = fc.array(
  fc.record(
    {
      ...resourced,
      scopeLogs: fc.array(
        fc.record({ ...scoped, logRecords: fc.array(logRecord, { maxLength: 4 }) }, { requiredKeys: ['logRecords'] }),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: ['scopeLogs'] },
  ),
  { maxLength: 3 },
);

/** Any request for traces that a correct exporter can send. */
export const traces: fc.Arbitrary<ResourceSpansInput[]> = fc.array(
  fc.record(
    {
      ...resourced,
      scopeSpans: fc.array(
        fc.record(
          {
            ...scoped,
            spans: fc.array(span, { maxLength: 4 }),
          },
          { requiredKeys: ['spans'] },
        ),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: ['scopeSpans'] },
  ),
  { maxLength: 3 },
);

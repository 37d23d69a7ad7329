import { expect, test } from 'vitest';
import { decodeTraces, lastSent } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { encodeTraces } from '../../support/otlp-encode.ts';

const [traceId, otherTraceId] = ['1'.repeat(32), '2'.repeat(32)];
const [spanId, otherSpanId] = ['a'.repeat(16), 'b'.repeat(16)];

test.each(['protobuf', 'json'] as const)('%s: of spans sent under one id in one body, the last stays', (encoding) => {
  const body = [
    {
      scopeSpans: [
        {
          spans: [
            { traceId, spanId, name: 'first' },
            { traceId, spanId: otherSpanId, name: 'other' },
          ],
        },
      ],
    },
    {
      scopeSpans: [
        { spans: [{ traceId: otherTraceId, spanId, name: 'of another trace' }] },
        { spans: [{ traceId, spanId, name: 'second' }] },
      ],
    },
  ];
  const decoded = decodeTraces(encoding, encodeTraces(encoding, body), defaultOtlpLimits);
  expect(decoded).toHaveLength(4);
  expect(lastSent(decoded).map(({ name }) => name)).toEqual(['second', 'other', 'of another trace']);
});

test('spans of different ids stay as they are', () => {
  const body = [
    {
      scopeSpans: [
        {
          spans: [
            { traceId, spanId },
            { traceId, spanId: otherSpanId },
          ],
        },
      ],
    },
  ];
  const decoded = decodeTraces('protobuf', encodeTraces('protobuf', body), defaultOtlpLimits);
  expect(lastSent(decoded)).toBe(decoded);
});

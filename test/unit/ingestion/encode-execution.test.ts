import { expect, test } from 'vitest';
import { encodeExecution } from '../../../src/domains/ingestion/create-execution/encode-execution.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { aTraceId } from '../../support/execution-body.ts';

const span = (nulls: number) => ({
  ...{ spanId: 'a'.repeat(16), parentSpanId: '', name: 'n', kind: 'other' as const, environment: '' },
  ...{ startUnixNano: 1n, endUnixNano: 2n },
  fields: { metadata: { a: Array(nulls).fill(null), b: 'x'.repeat(1024 * 1024) } },
});

test('an execution is refused exactly when a worker would not decode so many values', async () => {
  const limits = { ...defaultOtlpLimits, messagesMax: 1_000 };
  const bodies = Array.from({ length: 60 }, (_, index) => span(950 + index));
  const outcomes = await Promise.all(
    bodies.map(async (each) => {
      const body = await encodeExecution(aTraceId, [each], { rest: oneTurn });
      const isRefused = await encodeExecution(aTraceId, [each], { rest: oneTurn, messagesMax: 1_000 }).then(
        () => false,
        ({ code }) => code === 'body_too_large',
      );
      return { isRefused, isDecoded: isDecodable(body, limits) };
    }),
  );
  expect(outcomes.every(({ isRefused, isDecoded }) => isRefused !== isDecoded)).toBe(true);
  expect(new Set(outcomes.map(({ isRefused }) => isRefused))).toEqual(new Set([false, true]));
});

function isDecodable(body: Buffer, limits: typeof defaultOtlpLimits): boolean {
  try {
    return decodeTraces('json', body, limits).length === 1;
  } catch {
    return false;
  }
}

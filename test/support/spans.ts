import { randomBytes } from 'node:crypto';
import type { SpanInput } from './otlp-encode.ts';

export const newTraceId = (): string => randomBytes(16).toString('hex');
export const newSpanId = (): string => randomBytes(8).toString('hex');

const nanosPerMs = 1_000_000n;

/** Nanoseconds since the epoch of the current time plus `plusMs`. */
export function nowNano(plusMs = 0): bigint {
  return BigInt(Date.now() + plusMs) * nanosPerMs;
}

/** Returns a span that took 100 ms and ended now. Its ids are new unless given. */
export function aSpan(given: Partial<SpanInput> = {}): SpanInput {
  return {
    traceId: newTraceId(),
    spanId: newSpanId(),
    name: 'work',
    kind: 1,
    startUnixNano: nowNano(-100),
    endUnixNano: nowNano(),
    ...given,
  };
}

/** Returns a model call with these token counts. */
export function aModelCall(inputTokens: number, outputTokens: number, given: Partial<SpanInput> = {}): SpanInput {
  return aSpan({
    name: 'chat gpt-4o',
    kind: 3,
    ...given,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.response.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': BigInt(inputTokens),
      'gen_ai.usage.output_tokens': BigInt(outputTokens),
      ...given.attributes,
    },
  });
}

import type { LightSpan } from '../../src/domains/spans/index.ts';

/** Returns a light span. Values that are not given are empty. */
export function lightSpan(given: Partial<LightSpan> = {}): LightSpan {
  return {
    traceId: 'a'.repeat(32),
    spanId: '0000000000000001',
    parentSpanId: '',
    receivedAtMs: 0,
    sentOnce: true,
    normalizerVersion: 1,
    retentionDays: 0,
    startUnixNano: 0n,
    endUnixNano: 0n,
    kind: 'other',
    name: '',
    status: 'unset',
    service: '',
    environment: '',
    provider: '',
    model: '',
    usage: null,
    costNanoUsd: null,
    costSource: 'none',
    responseId: '',
    sessionId: '',
    userId: '',
    tags: [],
    prompt: null,
    inputPreview: '',
    outputPreview: '',
    errorType: '',
    ttftMs: null,
    ...given,
  };
}

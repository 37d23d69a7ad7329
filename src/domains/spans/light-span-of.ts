import type { LightSpan } from './light-span.ts';
import type { SpanRow } from './span-row.ts';

/** The light half of a row, as the store will answer it: lets a worker sum up a trace that it has seen whole. */
export function lightSpanOf({ receivedAtMs, retentionDays, span, normalised, prompt, cost }: SpanRow): LightSpan {
  const speaksForTrace = span.parentSpanId === '' || normalised.kind === 'llm';
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    receivedAtMs,
    sentOnce: true,
    retentionDays,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    kind: normalised.kind,
    name: normalised.name,
    status: normalised.status,
    service: normalised.service,
    environment: normalised.environment,
    provider: normalised.provider,
    model: normalised.model,
    usage: normalised.usage,
    costNanoUsd: cost.nanoUsd,
    costSource: cost.source,
    responseId: normalised.responseId,
    sessionId: normalised.sessionId,
    userId: normalised.userId,
    tags: normalised.tags,
    prompt,
    inputPreview: speaksForTrace ? normalised.inputPreview : '',
    outputPreview: speaksForTrace ? normalised.outputPreview : '',
  };
}

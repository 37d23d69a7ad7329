import type { LightSpan } from '../executions/index.ts';
import type { SpanRow } from './span-row.ts';

/** The light half of a row, as the store will answer it: lets a worker sum up a trace that it has seen whole. */
export function lightSpanOf({ receivedAtMs, retentionDays, span, normalised, cost }: SpanRow): LightSpan {
  const { promptRef } = normalised;
  const speaksForTrace = span.parentSpanId === '' || normalised.kind === 'llm';
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    receivedAtMs,
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
    responseId: normalised.responseId,
    sessionId: normalised.sessionId,
    userId: normalised.userId,
    tags: normalised.tags,
    prompt: promptRef === null ? null : { id: promptRef.id, name: promptRef.name, version: promptRef.version },
    inputPreview: speaksForTrace ? normalised.inputPreview : '',
    outputPreview: speaksForTrace ? normalised.outputPreview : '',
  };
}

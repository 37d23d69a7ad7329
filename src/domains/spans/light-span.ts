import { type Decoded, pick } from '../../stores/clickhouse/row-reader.ts';
import { NORMALIZER_VERSION } from './normalized-span.ts';
import { spanFields } from './span-fields.ts';
import { canRepresent, type SpanRow } from './span-row.ts';

const names = [
  ...(['traceId', 'spanId', 'parentSpanId', 'receivedAtMs', 'retentionDays', 'startUnixNano', 'endUnixNano'] as const),
  ...(['kind', 'name', 'status', 'service', 'environment', 'provider', 'model'] as const),
  ...(['usage', 'costNanoUsd', 'costSource', 'responseId', 'sessionId', 'userId', 'tags', 'prompt'] as const),
  ...(['inputPreview', 'outputPreview', 'normalizerVersion', 'errorType', 'ttftMs'] as const),
] as const;

export const lightFields = pick(spanFields, names);

type LightFields = Decoded<typeof lightFields>;

/** A span without its large fields, for trees, totals and summaries. */
export interface LightSpan extends Omit<LightFields, 'tags'> {
  tags: readonly string[];
  /** Whether the span has been received only once, as far as known. */
  sentOnce: boolean;
}

/**
 * Returns the row, which was read with {@link lightFields} among others, as a light span. A copy
 * would take as long as decoding.
 */
export function toLightSpan(row: LightFields, sentOnce: boolean): LightSpan {
  return Object.assign(row, { sentOnce });
}

/**
 * Returns the light span of a row, as ClickHouse will return it. With it a worker can summarize a
 * trace whose spans it has all seen.
 */
export function lightSpanOf({ receivedAtMs, retentionDays, span, normalized, prompt, cost }: SpanRow): LightSpan {
  const hasPreviews = canRepresent({ span, normalized });
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    receivedAtMs,
    sentOnce: true,
    retentionDays,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    kind: normalized.kind,
    name: normalized.name,
    status: normalized.status,
    service: normalized.service,
    environment: normalized.environment,
    provider: normalized.provider,
    model: normalized.model,
    usage: normalized.usage,
    costNanoUsd: cost.nanoUsd,
    costSource: cost.source,
    responseId: normalized.responseId,
    sessionId: normalized.sessionId,
    userId: normalized.userId,
    tags: normalized.tags,
    prompt,
    inputPreview: hasPreviews ? normalized.inputPreview : '',
    outputPreview: hasPreviews ? normalized.outputPreview : '',
    normalizerVersion: NORMALIZER_VERSION,
    errorType: normalized.errorType,
    ttftMs: normalized.ttftMs,
  };
}

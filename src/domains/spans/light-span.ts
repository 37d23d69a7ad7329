import type { SpanPrompt } from '../prompt-links/index.ts';
import type { CostSource, SpanStatus } from './normalised-span.ts';
import type { SpanRow } from './span-row.ts';
import type { TokenUsage } from './token-usage.ts';

/**
 * A span without its large fields, for trees, totals and summaries. `parentSpanId` is '' for a
 * root.
 */
export interface LightSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  receivedAtMs: number;
  /** Whether the span has been received only once, as far as known. */
  sentOnce: boolean;
  retentionDays: number;
  startUnixNano: bigint;
  endUnixNano: bigint;
  kind: string;
  name: string;
  status: SpanStatus;
  service: string;
  environment: string;
  provider: string;
  model: string;
  usage: TokenUsage | null;
  /** In nano-USD; null when no cost is known. */
  costNanoUsd: bigint | null;
  costSource: CostSource;
  responseId: string;
  sessionId: string;
  userId: string;
  tags: readonly string[];
  /** What the span itself says about its prompt. */
  prompt: SpanPrompt | null;
  inputPreview: string;
  outputPreview: string;
}

/**
 * Returns the light span of a row, as ClickHouse will return it. With it a worker can summarize a
 * trace whose spans it has all seen.
 */
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

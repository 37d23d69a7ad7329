import type { SpanPrompt } from '../prompt-links/index.ts';
import type { CostSource, SpanStatus } from './normalized-span.ts';
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
export function lightSpanOf({ receivedAtMs, retentionDays, span, normalized, prompt, cost }: SpanRow): LightSpan {
  const speaksForTrace = span.parentSpanId === '' || normalized.kind === 'llm';
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
    inputPreview: speaksForTrace ? normalized.inputPreview : '',
    outputPreview: speaksForTrace ? normalized.outputPreview : '',
  };
}

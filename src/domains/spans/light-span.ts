import type { SpanPrompt } from '../prompt-links/index.ts';
import type { SpanStatus } from './normalised-span.ts';
import type { TokenUsage } from './token-usage.ts';

/** Who says what a span cost: nobody, its client, or our price table. */
export type CostSource = 'none' | 'reported' | 'computed';

/** A span without its heavy parts: what trees, totals and summaries are made of. `parentSpanId` is '' for a root. */
export interface LightSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  receivedAtMs: number;
  /** Whether it has been received once, as far as was seen. */
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
  /** Nano-USD; null when no cost is known. */
  costNanoUsd: bigint | null;
  costSource: CostSource;
  responseId: string;
  sessionId: string;
  userId: string;
  tags: readonly string[];
  /** What the span itself says of its prompt. */
  prompt: SpanPrompt | null;
  inputPreview: string;
  outputPreview: string;
}

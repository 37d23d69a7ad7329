import type { TokenUsage } from './count-usage.ts';
import type { SpanStatus } from './light-span.ts';
import type { PromptUse } from './prompt-uses.ts';

/** An execution: one trace, summed up from all of its spans. */
export interface Execution {
  projectId: string;
  traceId: string;
  /** Grows whenever a span is added or replaced; the row with the largest one is the truth. */
  version: bigint;
  receivedAtMs: number;
  retentionDays: number;
  startUnixNano: bigint;
  endUnixNano: bigint;
  name: string;
  status: SpanStatus;
  /** Whether a span without a parent has arrived. */
  complete: boolean;
  spanCount: number;
  /** Whether each span has been received once, as far as was seen; no row of theirs has been replaced then. */
  spansSentOnce: boolean;
  errorCount: number;
  models: readonly string[];
  providers: readonly string[];
  /** Those of a template's text alone are kept for when its prompt is known. */
  prompts: readonly PromptUse[];
  usage: TokenUsage;
  /** Nano-USD of what could be priced; null when nothing could. */
  costNanoUsd: bigint | null;
  unpricedSpans: number;
  sessionId: string;
  userId: string;
  environment: string;
  service: string;
  tags: readonly string[];
  inputPreview: string;
  outputPreview: string;
}

import type { PromptUse } from '../prompt-links/index.ts';
import type { SpanStatus, TokenUsage } from '../spans/index.ts';

/** Of each set that an execution has. */
export interface SetSizes {
  models: number;
  providers: number;
  prompts: number;
  tags: number;
}

/** An execution: one trace, summed up from all of its spans. */
export interface Execution {
  projectId: string;
  traceId: string;
  /** The engine's clock before its spans were read, in nanoseconds: of two rows the one that saw more has the larger. 0 when not stored. */
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
  /**
   * Whether `usage`, `costNanoUsd`, `unpricedSpans`, `models`, `providers` and `prompts` are of the earliest spans only, because the
   * trace has more than are looked through. Everything else is of all spans.
   */
  totalsTruncated: boolean;
  /** How many members each set has beyond those that are kept. */
  omitted: SetSizes;
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

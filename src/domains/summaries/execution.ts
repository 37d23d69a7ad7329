import type { PromptUse } from '../prompt-links/index.ts';
import type { SpanStatus, TokenUsage } from '../spans/index.ts';
import type { ExecutionCall, ExecutionErrors } from './execution-calls.ts';

/** A number for each set of an execution. */
export interface SetSizes {
  models: number;
  providers: number;
  prompts: number;
  tags: number;
}

/** An execution: the summary of all spans of one trace. */
export interface Execution {
  projectId: string;
  traceId: string;
  /**
   * ClickHouse's clock before the spans were read, in nanoseconds. Of two rows, the one that saw
   * more spans has the larger version. 0 when the summary is not stored.
   */
  version: bigint;
  receivedAtMs: number;
  /** The lowest normalizer version among the spans. */
  normalizerVersion: number;
  retentionDays: number;
  startUnixNano: bigint;
  endUnixNano: bigint;
  name: string;
  status: SpanStatus;
  /** Whether a span without a parent has arrived. */
  complete: boolean;
  spanCount: number;
  /**
   * Whether each span has been received only once, as far as known. Then no row of the spans has
   * been replaced.
   */
  spansSentOnce: boolean;
  errorCount: number;
  models: readonly string[];
  providers: readonly string[];
  /**
   * Whether `usage`, `costNanoUsd`, `unpricedSpans`, `models`, `providers` and `prompts` cover only
   * the earliest spans, because the trace has more than are counted. All other fields cover all
   * spans.
   */
  totalsTruncated: boolean;
  /** How many members of each set are left out. */
  omitted: SetSizes;
  /** A prompt known only by its template text is kept too: the prompt may be created later. */
  prompts: readonly PromptUse[];
  usage: TokenUsage;
  /** Nano-USD of all priced spans; null when none could be priced. */
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

/** An execution as it is stored: with its calls, which analytics and budgets read. */
export interface SummarizedExecution extends Execution {
  calls: readonly ExecutionCall[];
  /** The most frequent types first. */
  errors: readonly ExecutionErrors[];
}
